/** A relist that changes much: the content is swapped at once, what has changed is told a slice at a time. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { CacheListener } from '../../src/cache/reader.ts'
import { settle } from '../support/fake-clock.ts'
import { versionsText, WatchClient } from './client.ts'
import { list, newCache, pod, replace, type TestCache } from './objects.ts'

const PODS = 5_000

const named = (i: number): string => `p-${String(i).padStart(5, '0')}`
const pods = (at: number, from = 0, to = PODS): Buffer[] =>
  Array.from({ length: to - from }, (_, i) => pod({ name: named(from + i) }, at))

/** A shard with many pods at version 10. */
function filled(): TestCache & { writer: ReturnType<TestCache['open']>; told: () => number } {
  const context = newCache()
  const writer = context.open('m1')
  replace(writer, pods(10), 10)
  let told = 0
  const listener: CacheListener = { changed: () => void (told += 1) }
  context.cache.onChange(listener)
  return { ...context, writer, told: () => told }
}

async function untilTold({ told }: { told: () => number }, count: number): Promise<void> {
  for (let i = 0; told() < count; i++) {
    assert.ok(i < 1_000, `${told()} of ${count} were told`)
    await settle(1)
  }
}

test('no turn of the event loop tells everything, the content is new at once, the version with the last change', async () => {
  const world = filled()
  replace(world.writer, pods(20, 1_000, PODS + 1_000), 20)
  assert.equal(list(world.pods).length, PODS)
  assert.equal(list(world.pods)[0], `m1/default/${named(1_000)}@20`)
  assert.ok(world.told() < 1_000, 'the caller is not held up')
  assert.equal(versionsText(world.pods.versions()), '{"m1":"10"}')
  await untilTold(world, PODS + 1_000)
  assert.equal(versionsText(world.pods.versions()), '{"m1":"20"}')
  world.cache.close()
})

test('a watch, a first page and an event in between find everything told', async () => {
  const watched = filled()
  replace(watched.writer, pods(20), 20)
  const client = new WatchClient(watched.pods, {}, undefined, () => 0)
  await settle(100)
  assert.equal(watched.told(), PODS)
  assert.equal(client.view.size, PODS)

  const paged = filled()
  const before = paged.pods.versions()
  replace(paged.writer, pods(20), 20)
  assert.equal(versionsText(paged.pods.snapshot({ limit: 5, isPaged: true }).versions), '{"m1":"20"}')
  const past = paged.pods.snapshot({ asOf: before })
  assert.equal(past.length, PODS)
  assert.equal(past.at(4_999).resourceVersion, '10')

  const changed = filled()
  replace(changed.writer, pods(20), 20)
  changed.writer.apply('DELETED', pod({ name: named(0) }, 21))
  assert.equal(changed.told(), PODS + 1)
  assert.equal(versionsText(changed.pods.versions()), '{"m1":"21"}')
  for (const { cache } of [watched, paged, changed]) cache.close()
})

test('a shard that goes in between tells nothing more; another replacement follows the one before', async () => {
  const gone = filled()
  replace(gone.writer, pods(20), 20)
  gone.writer.drop()
  const told = gone.told()
  await settle(50)
  assert.equal(gone.told(), told)

  const twice = filled()
  replace(twice.writer, pods(20), 20)
  replace(twice.writer, pods(30, 0, 100), 30)
  await untilTold(twice, 2 * PODS)
  assert.deepEqual([list(twice.pods).length, versionsText(twice.pods.versions())], [100, '{"m1":"30"}'])
  for (const { cache } of [gone, twice]) cache.close()
})

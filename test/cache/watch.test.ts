/** Watches: how they start, resume, wait, end, and what they hold. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { WatchItem } from '../../src/cache/reader.ts'
import type { ShardWriter } from '../../src/cache/writer.ts'
import { settle } from '../support/fake-clock.ts'
import { versionsText, WatchClient, type Standing } from './client.ts'
import { cluster, newCache, pod, PODS, replace, version } from './objects.ts'

const versions = (of: Readonly<Record<string, number | string>>): Map<never, never> =>
  new Map(Object.entries(of).map(([name, at]) => [cluster(name), version(at)])) as Map<never, never>

function fill(writer: ShardWriter, count: number, from: number, padding = ''): void {
  for (let i = 0; i < count; i++) writer.apply('MODIFIED', pod({ name: 'a', padding }, from + i))
}

test('a watch without a version begins with what is there, cluster by cluster', async () => {
  const { pods, open } = newCache()
  replace(open('m2'), [pod({ name: 'x' }, 5)], 20)
  replace(open('m1'), [pod({ name: 'a' }, 5), pod({ name: 'b' }, 6)], 10)
  replace(open('m3'), [], 30)
  open('m4')
  const client = new WatchClient(pods)
  await settle()
  const given = client.items.map((item) => item.type !== 'EXPIRED' && `${item.type} ${versionsText(item.versions)}`)
  assert.deepEqual(given, [
    // 0 cannot be resumed from: the deletion of an object already given would stay unknown.
    'INITIAL {"m1":"0"}',
    'INITIAL {"m1":"10"}',
    'INITIAL {"m1":"10","m2":"20"}',
    'INITIAL_END {"m1":"10","m2":"20","m3":"30"}',
  ])
  await client.stop()
})

test('a watch resumes behind its version, without what it has seen', async () => {
  const { pods, open } = newCache()
  const writer = open('m1')
  replace(writer, [pod({ name: 'a' }, 5)], 10)
  for (const at of [11, 12, 13]) writer.apply('ADDED', pod({ name: `n${at}` }, at))
  writer.bookmark(version(20))
  writer.apply('DELETED', pod({ name: 'a' }, 21))
  for (const [at, expected] of [
    [10, ['ADDED m1/default/n11', 'ADDED m1/default/n12', 'ADDED m1/default/n13', 'DELETED m1/default/a']],
    [12, ['ADDED m1/default/n13', 'DELETED m1/default/a']],
    [13, ['DELETED m1/default/a']],
    [17, ['DELETED m1/default/a']],
    [20, ['DELETED m1/default/a']],
    [21, []],
  ] as const) {
    const client = new WatchClient(pods, { from: versions({ m1: at }) })
    await settle()
    assert.deepEqual(client.take(), ['INITIAL_END', ...expected], `from ${at}`)
    await client.stop()
  }
})

test('while it catches up a watch carries the versions that it has seen, then those of the cache', async () => {
  const { pods, open } = newCache()
  const m1 = open('m1')
  const m2 = open('m2')
  replace(m1, [], 10)
  replace(m2, [], 20)
  m2.apply('ADDED', pod({ name: 'b' }, 21))
  m1.apply('ADDED', pod({ name: 'a' }, 11))
  m1.apply('ADDED', pod({ name: 'c' }, 12))
  const client = new WatchClient(pods, { from: versions({ m1: 11, m2: 20 }) })
  await settle()
  m2.apply('ADDED', pod({ name: 'd' }, 22))
  await settle()
  const given = client.items.map((item) => item.type !== 'EXPIRED' && versionsText(item.versions))
  assert.deepEqual(given, [
    '{"m1":"11","m2":"20"}',
    '{"m1":"11","m2":"21"}',
    '{"m1":"12","m2":"21"}',
    '{"m1":"12","m2":"22"}',
  ])
  await client.stop()
})

test('watchers that have seen the same share one item', async () => {
  const { pods, open } = newCache()
  const writer = open('m1')
  replace(writer, [], 10)
  const clients = [new WatchClient(pods), new WatchClient(pods), new WatchClient(pods, { from: versions({ m1: 10 }) })]
  await settle()
  writer.apply('ADDED', pod({ name: 'a' }, 11))
  await settle()
  const items = new Set<WatchItem | undefined>(clients.map((client) => client.items.at(-1)))
  assert.equal(items.size, 1)
  const [item] = items
  assert.ok(item?.type === 'EVENT' && item.versions === item.event.versions)
  await Promise.all(clients.map((client) => client.stop()))
})

test('events of one turn of the event loop come in one batch', async () => {
  const { pods, open } = newCache()
  const writer = open('m1')
  replace(writer, [], 10)
  const abort = new AbortController()
  const batches: number[] = []
  const reading = (async () => {
    for await (const batch of pods.watch({ signal: abort.signal })) batches.push(batch.length)
  })()
  await settle()
  for (const at of [11, 12, 13]) writer.apply('ADDED', pod({ name: `n${at}` }, at))
  await settle()
  assert.deepEqual(batches, [1, 3])
  abort.abort()
  await reading
})

test('only what is asked for is delivered: a namespace, a name, some clusters', async () => {
  const { pods, open, clock } = newCache()
  const writers = ['m1', 'm2'].map((name) => open(name))
  for (const writer of writers) replace(writer, [pod({ namespace: 'a', name: 'p' }, 5)], 10)
  const inA = new WatchClient(pods, { namespace: 'a' })
  const named = new WatchClient(pods, { namespace: 'b', name: 'q' })
  const inM2 = new WatchClient(pods, { clusters: new Set([cluster('m2')]) })
  await settle()
  for (const writer of writers) {
    writer.apply('ADDED', pod({ namespace: 'b', name: 'q' }, 11))
    writer.apply('ADDED', pod({ namespace: 'a', name: 'q' }, 12))
  }
  replace(open('m3'), [pod({ namespace: 'b', name: 'q' }, 5), pod({ namespace: 'b', name: 'r' }, 5)], 10)
  await clock.advance(2_000)
  assert.deepEqual(inA.take(), ['INITIAL m1/a/p', 'INITIAL m2/a/p', 'INITIAL_END', 'ADDED m1/a/q', 'ADDED m2/a/q'])
  assert.deepEqual(named.take(), ['INITIAL_END', 'ADDED m1/b/q', 'ADDED m2/b/q', 'INITIAL m3/b/q'])
  const texts = inM2.items.map((item) => item.type !== 'EXPIRED' && versionsText(item.versions))
  assert.deepEqual(texts, ['{"m2":"10"}', '{"m2":"10"}', '{"m2":"11"}', '{"m2":"12"}'])
  assert.deepEqual(inM2.take(), ['INITIAL m2/a/p', 'INITIAL_END', 'ADDED m2/b/q', 'ADDED m2/a/q'])
  await Promise.all([inA, named, inM2].map((client) => client.stop()))
})

test('bookmarks: one for versions that moved without an event, one after a quiet minute', async () => {
  const { pods, open, clock } = newCache()
  const writers = ['m1', 'm2'].map((name) => open(name))
  for (const writer of writers) replace(writer, [], 10)
  const client = new WatchClient(pods)
  await settle()
  client.take()
  for (const writer of writers) writer.bookmark(version(15))
  await clock.advance(900)
  assert.deepEqual(client.take(), [])
  await clock.advance(200)
  assert.deepEqual(client.take(), ['BOOKMARK {"m1":"15","m2":"15"}'])
  await clock.advance(45_000)
  assert.deepEqual(client.take(), [])
  await clock.advance(45_000)
  assert.deepEqual(client.take(), ['BOOKMARK {"m1":"15","m2":"15"}'])
  await client.stop()
})

test('a watch of another namespace hears of moved versions within two minutes, however busy the rest is', async () => {
  const { pods, open, clock } = newCache()
  const writer = open('m1')
  replace(writer, [], 10)
  const client = new WatchClient(pods, { namespace: 'quiet' })
  for (let i = 0; i < 120; i++) {
    writer.apply('MODIFIED', pod({ name: 'busy' }, 11 + i))
    await clock.advance(1_000)
  }
  const bookmarks = client.items.filter(({ type }) => type === 'BOOKMARK').length
  assert.ok(bookmarks >= 1 && bookmarks <= 3, `${bookmarks} bookmarks`)
  await client.stop()
})

test('a watch ends without a word when its signal aborts, also while it waits', async () => {
  const { pods, open, cache, clock } = newCache()
  replace(open('m1'), [], 10)
  const idle = new WatchClient(pods)
  const waiting = new WatchClient(pods, { from: versions({ m1: 99 }) })
  await settle()
  await Promise.all([idle.stop(), waiting.stop()])
  assert.deepEqual([idle.take(), waiting.take()], [['INITIAL_END'], []])
  assert.equal(cache.resource(PODS)?.watchers, 0)
  await clock.advance(400_000)
  assert.equal(clock.pending, 0, 'a timer was left behind')
})

test('a watch from the future waits up to 5 s for its shard', async () => {
  const { pods, open, clock } = newCache()
  const writer = open('m1')
  replace(writer, [], 10)
  const served = new WatchClient(pods, { from: versions({ m1: 12 }) })
  const unserved = new WatchClient(pods, { from: versions({ m1: 99 }) })
  await clock.advance(3_000)
  writer.apply('ADDED', pod({ name: 'a' }, 12))
  writer.apply('ADDED', pod({ name: 'b' }, 13))
  await clock.advance(1_900)
  assert.deepEqual(served.take(), ['INITIAL_END', 'ADDED m1/default/b'])
  assert.deepEqual(unserved.take(), [])
  await clock.advance(200)
  assert.deepEqual(unserved.take(), ['EXPIRED'])
  await served.stop()
})

test('a watch that names a cluster still being listed waits for it', async () => {
  const { pods, open, clock } = newCache()
  const writer = open('m1')
  const client = new WatchClient(pods, { from: versions({ m1: 10 }) })
  await clock.advance(1_000)
  assert.deepEqual(client.take(), [])
  replace(writer, [], 10)
  await settle()
  assert.deepEqual(client.take(), ['INITIAL_END'])
  await client.stop()
})

test('versions that cannot be resumed from expire at once', async () => {
  const { pods, open } = newCache()
  const writer = open('m1')
  replace(writer, [], 10)
  for (const from of [{ m1: 9 }, { m1: 10, gone: 5 }, { m1: 0 }, { m1: 'opaque' }, { m1: '' }]) {
    const client = new WatchClient(pods, { from: versions(from) })
    await settle()
    assert.deepEqual(client.take(), ['EXPIRED'], JSON.stringify(from))
    await client.done
  }
})

test('the window lets go of events by age; a client that needs one of them is cut', async () => {
  const { pods, open, clock, cache } = newCache({ windowMs: 60_000 })
  const writer = open('m1')
  replace(writer, [], 10)
  writer.apply('ADDED', pod({ name: 'a' }, 11))
  await clock.advance(50_000)
  writer.apply('ADDED', pod({ name: 'b' }, 12))
  await clock.advance(30_000)
  const tooOld = new WatchClient(pods, { from: versions({ m1: 10 }) })
  const recent = new WatchClient(pods, { from: versions({ m1: 11 }) })
  await settle()
  assert.deepEqual(tooOld.take(), ['EXPIRED'])
  assert.deepEqual(recent.take(), ['INITIAL_END', 'ADDED m1/default/b'])
  await recent.stop()
  await clock.advance(200_000)
  assert.equal(cache.resource(PODS)?.window.bytes, 0)
})

test('a client at a version within a list that the window has begun to forget is cut', async () => {
  const { pods, open, clock } = newCache({ windowBytes: 3_000 })
  const writer = open('m1')
  replace(writer, [], 10)
  replace(
    writer,
    [1, 2, 3, 4, 5, 6].map((i) => pod({ name: `p${i}` }, 10 + i)),
    20,
  )
  const client = new WatchClient(pods, { from: versions({ m1: 10 }) })
  await clock.advance(10)
  assert.deepEqual(client.take(), ['EXPIRED'])
})

test('the windows of all resources share one budget, and the biggest gives', () => {
  const { cache, open } = newCache({ windowBytes: 20_000 })
  const nodes = { group: '', version: 'v1', resource: 'nodes' }
  const quiet = open('m1', { gvr: nodes, kind: 'Node', namespaced: false })
  replace(quiet, [], 1)
  quiet.apply('ADDED', pod({ name: 'n', namespace: '' }, 2))
  const busy = open('m1')
  replace(busy, [], 1)
  fill(busy, 200, 2)
  const [nodesWindow, podsWindow] = [cache.resource(nodes)?.window, cache.resource(PODS)?.window]
  assert.ok((nodesWindow?.bytes ?? 0) + (podsWindow?.bytes ?? 0) <= 20_000)
  assert.equal(nodesWindow?.length, 2)
})

test('B3: a reader that stops reading holds nothing but its place, is told at once, and others do not wait', async () => {
  const { pods, open, cache } = newCache({ windowBytes: 100_000 })
  const writer = open('m1')
  replace(writer, [pod({ name: 'a' }, 5)], 10)
  const told: string[] = []
  const stalled = Array.from({ length: 10 }, () =>
    pods.watch({ signal: new AbortController().signal, onExpired: (message) => told.push(message) }),
  ).map((watch) => watch[Symbol.asyncIterator]())
  await Promise.all(stalled.map((iterator) => iterator.next()))
  const healthy = new WatchClient(pods)
  await settle()
  for (let i = 0; i < 300; i++) {
    writer.apply('MODIFIED', pod({ name: 'a', padding: 'x'.repeat(500) }, 11 + i))
    if (i % 10 === 9) await settle()
  }
  assert.ok((cache.resource(PODS)?.window.bytes ?? 0) <= 100_000)
  assert.equal(told.length, 10, 'cut without being asked for items')
  assert.equal(healthy.items.filter(({ type }) => type === 'EVENT').length, 300)
  const ends = await Promise.all(stalled.map((iterator) => iterator.next()))
  assert.deepEqual(
    new Set(ends.map(({ value }) => (value as WatchItem[]).map(({ type }) => type).join())),
    new Set(['EXPIRED']),
  )
  assert.ok((await Promise.all(stalled.map((iterator) => iterator.next()))).every(({ done }) => done))
  await healthy.stop()
  assert.equal(cache.resource(PODS)?.watchers, 0)
})

test('a watcher that begins with many objects gets them in batches, and is cut if it lags behind meanwhile', async () => {
  const { pods, open } = newCache({ windowBytes: 50_000 })
  const writer = open('m1')
  replace(
    writer,
    Array.from({ length: 1_000 }, (_, i) => pod({ name: `p${String(i).padStart(4, '0')}` }, 5)),
    10,
  )
  const iterator = pods.watch({ signal: new AbortController().signal })[Symbol.asyncIterator]()
  const first = (await iterator.next()).value as WatchItem[]
  assert.ok(first.length < 500 && first.every(({ type }) => type === 'INITIAL'))
  fill(writer, 200, 11)
  assert.deepEqual(
    ((await iterator.next()).value as WatchItem[]).map(({ type }) => type),
    ['EXPIRED'],
  )
})

test('a resource that nobody registers any more ends its watches', async () => {
  const { pods, open, cache } = newCache()
  replace(open('m1'), [], 10)
  const client = new WatchClient(pods)
  await settle()
  cache.unregister(PODS)
  await settle()
  assert.deepEqual(client.take(), ['INITIAL_END', 'EXPIRED'])
  assert.equal(cache.resource(PODS), undefined)
})

test('a relist is no reason to cut anybody: who resumes from before it gets the differences', async () => {
  const { pods, open } = newCache()
  const writer = open('m1')
  replace(writer, [pod({ name: 'a' }, 5), pod({ name: 'b' }, 6)], 10)
  const client = new WatchClient(pods)
  await settle()
  const standing = client.standings.at(-1) as Standing
  await client.stop()
  replace(writer, [pod({ name: 'b' }, 6), pod({ name: 'c' }, 15)], 20)
  const resumed = new WatchClient(pods, { from: standing.versions }, standing.view)
  await settle()
  assert.deepEqual(resumed.take(), ['INITIAL_END', 'DELETED m1/default/a', 'ADDED m1/default/c'])
  await resumed.stop()
})

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { BulkLimits } from '../../src/backendstore/bulk-options.ts'
import { BulkWriter } from '../../src/backendstore/bulk-writer.ts'
import { StoreMetrics } from '../../src/backendstore/bulk-metrics.ts'
import { DeadLetters } from '../../src/backendstore/dead-letters.ts'
import { BackendStoreError } from '../../src/backendstore/errors.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { newCache, pod, replace, type TestCache } from '../cache/objects.ts'
import { MemoryStore } from '../support/memory-store.ts'

interface Running extends TestCache {
  readonly store: MemoryStore
  readonly writer: BulkWriter
  readonly logs: () => readonly { readonly msg: string; readonly [key: string]: unknown }[]
  readonly metric: (name: string) => Promise<number>
  /** Until the store has what the cache has. */
  settled(): Promise<void>
}

function running(
  t: TestContext,
  limits: Partial<BulkLimits> = {},
  store = new MemoryStore(),
  test = newCache(),
): Running {
  const { cache, clock } = test
  const lines: string[] = []
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) })
  const metrics = createMetricsRegistry()
  const writer = new BulkWriter({
    ...{ cache, store, clock, random: () => 0, logger, limits },
    metrics: new StoreMetrics(metrics),
    letters: new DeadLetters(() => clock.nowMs()),
  })
  const stop = new AbortController()
  const ended = writer.run(stop.signal)
  t.after(async () => {
    stop.abort(new Error('test over'))
    store.release()
    await clock.advance(0)
    await ended
    cache.close()
    assert.equal(clock.pending, 0)
  })
  return {
    ...test,
    store,
    writer,
    logs: () => lines.map((line) => JSON.parse(line) as { msg: string }),
    metric: async (name) => {
      const { values } = (await metrics.getSingleMetric(name)?.get()) ?? { values: [] }
      return values.reduce((sum, { value }) => sum + value, 0)
    },
    settled: async () => {
      let caughtUp = false
      void writer.caughtUp().then(() => (caughtUp = true))
      await clock.advanceUntil(() => caughtUp)
    },
  }
}

const pods = (count: number, version = 1): Buffer[] =>
  Array.from({ length: count }, (_, i) => pod({ name: `p${String(i).padStart(4, '0')}` }, version))

test('mirrors lists and events, and what changes often is written once', async (t) => {
  const { open, store, settled } = running(t)
  const member1 = open('member1')
  replace(member1, [pod({ name: 'a' }, 1), pod({ name: 'b' }, 1)], 1)
  await settled()
  assert.deepEqual(store.names(), ['member1/default/a@1', 'member1/default/b@1'])
  for (let version = 2; version < 50; version++) member1.apply('MODIFIED', pod({ name: 'a' }, version))
  member1.apply('DELETED', pod({ name: 'b' }, 50))
  member1.apply('ADDED', pod({ name: 'c' }, 51))
  await settled()
  assert.deepEqual(store.names(), ['member1/default/a@49', 'member1/default/c@51'])
  assert.equal(store.written, 4)
})

test('a change is in the store well within a second, without waiting for company', async (t) => {
  const { open, store, clock, settled } = running(t)
  const member1 = open('member1')
  replace(member1, [], 1)
  await settled()
  member1.apply('ADDED', pod({ name: 'a' }, 2))
  await clock.advance(100)
  assert.deepEqual(store.names(), ['member1/default/a@2'])
})

test('a writer that stops while it waits for company ends at once, and its timers with it', async () => {
  const { cache, clock, open } = newCache()
  const logger = createLogger('silent', { write: () => undefined })
  const writer = new BulkWriter({
    ...{ cache, store: new MemoryStore(), clock, random: () => 0, logger },
    metrics: new StoreMetrics(createMetricsRegistry()),
    letters: new DeadLetters(() => clock.nowMs()),
  })
  const stop = new AbortController()
  let ended = false
  const running = writer.run(stop.signal).then(() => (ended = true))
  replace(open('member1'), pods(1), 1)
  await clock.advance(1)
  stop.abort(new Error('test over'))
  await clock.advance(0)
  assert.ok(ended)
  await running
  cache.close()
})

test('a fleet of many small shards is in the store after one linger, not after one for each', async (t) => {
  const { open, store, clock } = running(t)
  for (let i = 0; i < 100; i++) replace(open(`member${i}`), pods(2), 1)
  await clock.advanceUntil(() => store.kept.size === 200, 1)
  assert.ok(clock.monotonicMs() < 200, `${clock.monotonicMs()} ms`)
})

test('batches are bounded by objects and by bytes, and two are under way at most', async (t) => {
  const byCount = running(t, { batchObjects: 10 })
  replace(byCount.open('member1'), pods(95), 1)
  await byCount.settled()
  assert.equal(Math.max(...byCount.store.batches), 10)
  assert.equal(byCount.store.kept.size, 95)
  assert.equal(byCount.store.mostUnderWay <= 2, true)
  const byBytes = running(t, { batchBytes: 3_000 })
  replace(
    byBytes.open('member1'),
    Array.from({ length: 10 }, (_, i) => pod({ name: `p${i}`, padding: 'x'.repeat(1_000) }, 1)),
    1,
  )
  await byBytes.settled()
  assert.equal(Math.max(...byBytes.store.batches) <= 3, true)
  assert.equal(byBytes.store.kept.size, 10)
})

test('H5: while the store stalls nothing waits for it and memory stays bounded; afterwards nothing is missing', async (t) => {
  const { open, store, clock, writer, settled } = running(t, { batchObjects: 10, pendingNames: 50 })
  const member1 = open('member1')
  replace(member1, [], 1)
  await settled()
  store.stall()
  for (let version = 2; version < 12; version++) {
    for (const object of pods(200, version)) member1.apply(version === 2 ? 'ADDED' : 'MODIFIED', object)
    await clock.advance(1_000)
    assert.equal(writer.status().pending <= 50, true)
  }
  for (const object of pods(20, 12)) member1.apply('DELETED', object)
  assert.equal(writer.status().lagMs >= 9_000, true)
  assert.equal(writer.status().complete, false)
  store.release()
  await settled()
  assert.deepEqual(writer.status(), { pending: 0, complete: true, lagMs: 0, failure: undefined })
  assert.equal(store.kept.size, 180)
  assert.equal(store.names()[0], 'member1/default/p0020@11')
})

test('a store that fails is tried again after growing pauses, told once, and loses nothing', async (t) => {
  const { open, store, clock, writer, logs, metric, settled } = running(t, { batchObjects: 10 })
  const member1 = open('member1')
  replace(member1, pods(20), 1)
  await settled()
  store.calls.length = 0
  store.failure = new BackendStoreError('full', 'no space is left')
  for (const object of pods(30, 2)) member1.apply('MODIFIED', object)
  await clock.advance(120_000)
  assert.equal(writer.status().failure?.code, 'full')
  assert.deepEqual([...writer.waiting()], [['member1', 30]])
  assert.equal(await metric('fleetsearch_backend_store_healthy'), 0)
  const tries = store.calls.length
  assert.equal(tries > 3 && tries < 20, true, store.calls.join())
  member1.apply('DELETED', pod({ name: 'p0000' }, 3))
  store.failure = undefined
  await settled()
  assert.equal(store.kept.size, 29)
  assert.deepEqual([...writer.waiting()], [])
  assert.equal(store.names()[0], 'member1/default/p0001@2')
  assert.equal(await metric('fleetsearch_backend_store_healthy'), 1)
  assert.deepEqual(
    logs().map(({ level, msg }) => [level, msg]),
    [
      [40, 'search store failed, trying again'],
      [30, 'search store recovered'],
    ],
  )
})

test('a fault of ours is an error in the log, which says where it is', async (t) => {
  const { open, store, clock, logs } = running(t)
  store.failure = new TypeError('undefined is not a function')
  replace(open('member1'), pods(1), 1)
  await clock.advance(1_000)
  assert.deepEqual(
    logs().map(({ level, msg }) => [level, msg]),
    [[50, 'search store failed, trying again']],
  )
})

test('G3: after a restart only what differs is written: changed, missing, and gone', async (t) => {
  const store = new MemoryStore()
  const first = running(t, {}, store)
  replace(first.open('member1'), pods(50), 1)
  await first.settled()
  const before = store.written
  const second = running(t, {}, store)
  const objects = pods(50).slice(1)
  objects[0] = pod({ name: 'p0001' }, 7)
  objects.push(pod({ name: 'new' }, 8))
  replace(second.open('member1'), objects, 8)
  await second.settled()
  assert.equal(store.written - before, 2)
  assert.equal(store.names().includes('member1/default/p0000@1'), false)
  assert.equal(store.kept.size, 50)
})

test('a delete that the store missed is found by the comparison that is made now and then', async (t) => {
  const { open, store, clock, settled } = running(t, { reconcileMs: 60_000 })
  replace(open('member1'), pods(3), 1)
  await settled()
  store.kept.set('member1||pods|default|ghost', { ...store.kept.values().next().value!, name: 'ghost' })
  store.kept.delete('member1||pods|default|p0001')
  await clock.advance(61_000)
  await settled()
  assert.deepEqual(store.names(), ['member1/default/p0000@1', 'member1/default/p0001@1', 'member1/default/p0002@1'])
})

test('C4: a cluster that leaves takes its documents along, one that comes back under its name brings its own', async (t) => {
  const { open, store, settled } = running(t)
  const old = open('member1')
  replace(old, [pod({ name: 'old', uid: 'u1' }, 100)], 100)
  replace(open('member2'), [pod({ name: 'other' }, 1)], 1)
  await settled()
  old.drop()
  const fresh = open('member1', { clusterUid: 'u2' })
  replace(fresh, [pod({ name: 'new', uid: 'u2' }, 5)], 5)
  await settled()
  assert.deepEqual(store.names(), ['member1/default/new@5', 'member2/default/other@1'])
})

test('a resource that is registered no more loses its documents', async (t) => {
  const { cache, open, store, settled, pods: reader } = running(t)
  replace(open('member1'), pods(5), 1)
  await settled()
  cache.unregister(reader.gvr)
  await settled()
  assert.deepEqual(store.names(), [])
})

test('documents of clusters that left while nobody looked go after two minutes, those of a member not reached stay', async (t) => {
  const store = new MemoryStore()
  const first = running(t, {}, store)
  for (const name of ['member1', 'member2']) replace(first.open(name), pods(2), 1)
  await first.settled()
  const second = running(t, {}, store)
  second.open('member2') // known, not listed: its member does not answer
  await second.clock.advance(100_000)
  assert.equal(store.kept.size, 4)
  await second.clock.advance(30_000)
  assert.deepEqual(store.names(), ['member2/default/p0000@1', 'member2/default/p0001@1'])
})

test('an object that is refused for good is told by name and holds nobody up', async (t) => {
  const { open, store, logs, metric, settled } = running(t)
  store.refused.add('p0001')
  replace(open('member1'), pods(3), 1)
  await settled()
  assert.deepEqual(store.names(), ['member1/default/p0000@1', 'member1/default/p0002@1'])
  const refusal = logs().find(({ msg }) => msg === 'object refused by the search store')
  assert.equal(refusal?.['object'], 'default/p0001')
  assert.equal(refusal?.['reason'], 'refused')
  assert.equal((await metric('fleetsearch_backend_store_documents_total')) >= 3, true)
})

test('a busy cluster does not keep others waiting', async (t) => {
  const { open, store, settled } = running(t, { batchObjects: 5 })
  const [busy, quiet] = [open('busy'), open('quiet')]
  replace(busy, [], 1)
  replace(quiet, [], 1)
  await settled()
  store.batches.length = 0
  for (const object of pods(100, 2)) busy.apply('ADDED', object)
  quiet.apply('ADDED', pod({ name: 'only' }, 2))
  let seenAfter = -1
  const watch = store.kept.set.bind(store.kept)
  store.kept.set = (key, value) => {
    if (value.cluster === 'quiet') seenAfter = store.batches.length
    return watch(key, value)
  }
  await settled()
  assert.equal(seenAfter > 0 && seenAfter <= 2, true, String(seenAfter))
})

test('documents of a redacted resource are made anew once: those of before may tell what is redacted now', async (t) => {
  const store = new MemoryStore()
  const before = running(t, {}, store)
  replace(before.open('member1'), pods(3), 1)
  await before.settled()
  const redacted = newCache()
  const redaction = '[["spec","secret"]]'
  redacted.cache.register(redacted.pods.gvr, 'Pod', true, redaction)
  store.calls.length = 0
  const { settled, open, cache } = running(t, {}, store, redacted)
  const shard = open('member1', { redaction })
  replace(shard, pods(3), 1)
  await settled()
  const drops = (): number => store.calls.filter((call) => call === 'drop member1/pods').length
  assert.equal(drops(), 1)
  assert.equal(store.names().length, 3)
  assert.equal(cache.resource(redacted.pods.gvr)?.redacted, true)
  replace(shard, pods(3), 2)
  await settled()
  assert.equal(drops(), 1, 'not at every list')
})

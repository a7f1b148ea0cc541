/** The writer before an engine that misbehaves, in virtual time: cases H4, H5 and H7 as far as the writer decides them. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { StoreMetrics } from '../../src/backendstore/bulk-metrics.ts'
import type { BulkLimits } from '../../src/backendstore/bulk-options.ts'
import { BulkWriter } from '../../src/backendstore/bulk-writer.ts'
import { DeadLetters } from '../../src/backendstore/dead-letters.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { newCache, pod, replace, type TestCache } from '../cache/objects.ts'
import { FakeEngine } from '../support/fake-engine.ts'

const ENGINE = { kind: 'opensearch', addresses: ['http://engine'], credentials: {}, installation: 'test' } as const

interface Replica {
  readonly writer: BulkWriter
  readonly letters: DeadLetters
  readonly lines: readonly string[]
  settled(): Promise<void>
  stop(): Promise<void>
  metric(name: string): Promise<number>
}

interface ReplicaOptions {
  readonly limits?: Partial<BulkLimits>
  /** Of each of its calls. */
  readonly delayMs?: number
}

async function replica(
  t: TestContext,
  { cache, clock }: TestCache,
  engine: FakeEngine,
  { limits = {}, delayMs = 0 }: ReplicaOptions = {},
): Promise<Replica> {
  const lines: string[] = []
  const registry = createMetricsRegistry()
  const letters = new DeadLetters(() => clock.nowMs())
  const writer = new BulkWriter({
    ...{ cache, clock, limits, letters, random: () => 0.5 },
    store: await engine.open(ENGINE, delayMs),
    logger: createLogger('info', { write: (line: string) => void lines.push(line) }),
    metrics: new StoreMetrics(registry),
  })
  const abort = new AbortController()
  const ended = writer.run(abort.signal)
  const stop = async (): Promise<void> => {
    abort.abort(new Error('test over'))
    await clock.advance(60_000)
    await ended
  }
  t.after(stop)
  return {
    ...{ writer, letters, lines, stop },
    async settled() {
      let caughtUp = false
      void writer.caughtUp().then(() => (caughtUp = true))
      await clock.advanceUntil(() => caughtUp, 100, 3_600_000)
    },
    async metric(name) {
      const { values } = (await registry.getSingleMetric(name)?.get()) ?? { values: [] }
      return values.reduce((sum, { value }) => sum + value, 0)
    },
  }
}

const pods = (count: number, at = 1): Buffer[] =>
  Array.from({ length: count }, (_, i) => pod({ name: `p${String(i).padStart(4, '0')}` }, at))

test('H4: in one bulk of deletes and indexes each item has its own outcome', async (t) => {
  const world = newCache()
  const engine = new FakeEngine(world.clock)
  const { writer, letters, settled, metric, lines } = await replica(t, world, engine)
  const member1 = world.open('member1')
  replace(member1, [pod({ name: 'b' }, 1), pod({ name: 'e' }, 2)], 2)
  await settled()
  engine.documents.delete('member1||pods|default|b') // its delete meets a 404
  let puttingOff = true
  engine.faults.item = ({ name, type }) => {
    if (name === 'c') return { rejected: 'mapper_parsing_exception: 400' }
    return name === 'd' && type === 'upsert' && puttingOff ? { deferred: '429' } : undefined
  }
  member1.apply('ADDED', pod({ name: 'a' }, 3))
  member1.apply('DELETED', pod({ name: 'b' }, 4))
  member1.apply('ADDED', pod({ name: 'c' }, 5))
  member1.apply('ADDED', pod({ name: 'd' }, 6))
  member1.apply('DELETED', pod({ name: 'e' }, 7))
  await world.clock.advance(500)
  assert.deepEqual(engine.names(), ['member1/default/a@3'])
  assert.equal(writer.status().failure?.code, 'overloaded')
  puttingOff = false
  await settled()
  assert.deepEqual(engine.names(), ['member1/default/a@3', 'member1/default/d@6'])
  assert.deepEqual(
    letters.list().map(({ name, reason, times }) => ({ name, reason, times })),
    [{ name: 'c', reason: 'mapper_parsing_exception: 400', times: 1 }],
  )
  assert.equal(await metric('fleetsearch_backend_store_dead_letters'), 1)
  assert.equal(lines.filter((line) => line.includes('object refused')).length, 1)

  engine.faults.item = undefined
  for (const letter of letters.list()) writer.replay(letter)
  await settled()
  assert.deepEqual(engine.names(), ['member1/default/a@3', 'member1/default/c@5', 'member1/default/d@6'])
  assert.deepEqual(letters.list(), [])
})

test('H5: put off for a minute, then slow, then deaf, then down for five: nothing is lost or doubled, memory is bounded', async (t) => {
  const world = newCache()
  const { clock } = world
  const engine = new FakeEngine(clock)
  const { writer, settled, metric } = await replica(t, world, engine, {
    limits: { pendingNames: 500, batchObjects: 200, lingerMs: 1_000 },
  })
  const member1 = world.open('member1')
  replace(member1, pods(300), 1)
  await settled()
  let at = 1
  const churn = async (seconds: number, changes: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      for (let i = 0; i < changes; i++) {
        at++
        const name = `p${String((at * 7) % 2_000).padStart(4, '0')}`
        if (at % 5 === 0) member1.apply('DELETED', pod({ name }, at))
        else member1.apply('MODIFIED', pod({ name }, at))
      }
      await clock.advance(1_000)
      assert.ok(writer.status().pending <= 500, String(writer.status().pending))
    }
  }
  engine.faults.item = () => ({ deferred: 'es_rejected_execution_exception' })
  await churn(60, 10)
  assert.ok(writer.status().lagMs >= 50_000, String(writer.status().lagMs))
  assert.ok((await metric('fleetsearch_backend_store_lag_seconds')) >= 50)
  engine.faults.item = undefined
  engine.faults.latencyMs = 10_000
  await churn(60, 10)
  engine.faults.latencyMs = 0
  engine.faults.dropReplies = true
  await churn(60, 10)
  engine.faults.dropReplies = false
  engine.faults.code = 'unreachable'
  await churn(300, 67) // 20,000 changes
  assert.equal(writer.status().failure?.code, 'unreachable')
  engine.faults.code = undefined
  await settled()
  const snapshot = world.pods.snapshot({})
  const cached = Array.from({ length: snapshot.length }, (_, i) => snapshot.at(i))
  assert.deepEqual(
    engine.names(),
    cached.map((each) => `${each.cluster}/${each.namespace}/${each.name}@${each.resourceVersion}`).sort(),
  )
  assert.deepEqual(writer.status(), { pending: 0, complete: true, lagMs: 0, failure: undefined })
})

test('H7: what a replica sends late neither overwrites nor resurrects, whoever wins a race is right', async (t) => {
  const one = newCache()
  const two = newCache({ clock: one.clock })
  const engine = new FakeEngine(one.clock)
  const quick = await replica(t, one, engine)
  const slow = await replica(t, { ...two, clock: one.clock }, engine, { delayMs: 3_000 })
  const writers = [one.open('member1'), two.open('member1')]
  for (const writer of writers) replace(writer, [], 4)
  await quick.settled()
  await slow.settled()
  for (const writer of writers) writer.apply('ADDED', pod({ name: 'a' }, 5))
  await one.clock.advance(500) // the quick one has written version 5, the slow one is about to
  writers[0]?.apply('MODIFIED', pod({ name: 'a' }, 6))
  await one.clock.advance(500)
  assert.deepEqual(engine.names(), ['member1/default/a@6'])
  writers[0]?.apply('DELETED', pod({ name: 'a' }, 7))
  await one.clock.advance(500)
  assert.deepEqual(engine.names(), [])
  await slow.settled()
  assert.deepEqual(engine.names(), [])
  assert.ok(engine.lateWrites > 0)
})

for (const [code, what] of [
  ['unauthorized', '401'],
  ['forbidden', '403'],
  ['readOnly', 'a read-only index'],
] as const) {
  test(`H7: ${what} is shown, tried again and lost nothing by`, async (t) => {
    const world = newCache()
    const engine = new FakeEngine(world.clock)
    const { writer, settled, metric, lines } = await replica(t, world, engine)
    engine.faults.code = code
    replace(world.open('member1'), pods(10), 1)
    await world.clock.advance(300_000)
    assert.equal(writer.status().failure?.code, code)
    assert.equal(await metric('fleetsearch_backend_store_healthy'), 0)
    assert.ok((await metric('fleetsearch_backend_store_failures_total')) >= 8)
    assert.ok(engine.calls.length < 30, `${engine.calls.length} calls`)
    assert.equal(lines.length, 1)
    engine.faults.code = undefined
    await settled()
    assert.equal(engine.documents.size, 10)
  })
}

test('a store short of breath is given smaller batches, and larger ones again as it recovers', async (t) => {
  const world = newCache()
  const engine = new FakeEngine(world.clock)
  const { settled } = await replica(t, world, engine, { limits: { batchObjects: 256 } })
  engine.faults.code = 'overloaded'
  replace(world.open('member1'), [], 1)
  await settled().catch(() => undefined)
  const sizes = (): number[] =>
    engine.calls.filter((call) => call.startsWith('write')).map((call) => Number(call.slice(6)))
  const member2 = world.open('member2')
  engine.faults.code = undefined
  replace(member2, [], 1)
  await settled()
  engine.faults.item = () => ({ deferred: '429' })
  for (const object of pods(1_000, 2)) member2.apply('ADDED', object)
  await world.clock.advance(60_000)
  assert.deepEqual(sizes().slice(-1), [16])
  engine.faults.item = undefined
  await settled()
  assert.equal(engine.documents.size, 1_000)
  assert.ok(Math.max(...sizes().slice(-5)) > 100, sizes().join())
})

test('a member that was restored from a backup is believed, though its versions are older', async (t) => {
  const world = newCache()
  const engine = new FakeEngine(world.clock)
  const first = await replica(t, world, engine)
  const member1 = world.open('member1')
  replace(member1, pods(3, 900), 900)
  await first.settled()
  replace(member1, pods(2, 100), 100)
  await first.settled()
  assert.deepEqual(engine.names(), ['member1/default/p0000@100', 'member1/default/p0001@100'])
})

test('a shard that the engine has whole is not compared by name', async (t) => {
  const world = newCache()
  const engine = new FakeEngine(world.clock)
  const { settled } = await replica(t, world, engine, { limits: { reconcileMs: 60_000 } })
  replace(world.open('member1'), pods(100), 1)
  await settled()
  engine.calls = []
  await world.clock.advance(61_000)
  await settled()
  assert.deepEqual(
    engine.calls.filter((call) => call !== 'shards'),
    ['digest'],
  )
  engine.documents.delete('member1||pods|default|p0007') // by somebody else
  engine.documents.set('member1||pods|default|ghost', { ...[...engine.documents.values()][0]!, name: 'ghost' })
  await world.clock.advance(60_000)
  await settled()
  assert.equal(engine.documents.size, 100)
  assert.equal(engine.names()[7], 'member1/default/p0007@1')
})

test('documents stay as long as it is not known who the members are', async (t) => {
  const world = newCache()
  const engine = new FakeEngine(world.clock)
  const first = await replica(t, world, engine)
  replace(world.open('member1'), pods(3), 1)
  await first.settled()
  await first.stop()
  const restarted = newCache({ clock: world.clock })
  let known = false
  const writer = new BulkWriter({
    ...{ cache: restarted.cache, clock: world.clock, random: () => 0 },
    letters: new DeadLetters(() => 0),
    store: await engine.open(ENGINE),
    logger: createLogger('silent'),
    metrics: new StoreMetrics(createMetricsRegistry()),
    known: () => known,
  })
  const abort = new AbortController()
  const ended = writer.run(abort.signal)
  await world.clock.advance(3_600_000) // the control plane is down
  assert.equal(engine.documents.size, 3)
  known = true
  await world.clock.advance(130_000)
  assert.equal(engine.documents.size, 0)
  abort.abort()
  await ended
})

test('while changes never end and the engine is slow, what only a comparison finds is still written', async (t) => {
  const world = newCache()
  const engine = new FakeEngine(world.clock)
  const { settled } = await replica(t, world, engine)
  const busy = world.open('busy')
  replace(busy, pods(50), 1)
  await settled()
  engine.faults.latencyMs = 300
  let version = 2
  const churn = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50) {
      busy.apply('MODIFIED', pod({ name: `p${String(version % 50).padStart(4, '0')}` }, version))
      version++
      await world.clock.advance(50)
    }
  }
  await churn(1_000)
  replace(world.open('joined'), [pod({ name: 'first' }, 1)], 1)
  await churn(20_000)
  assert.equal(engine.names().includes('joined/default/first@1'), true)
  engine.faults.latencyMs = 0
  await settled()
})

/** Engines that come, change, fail and go, in virtual time. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { StoreMetrics } from '../../src/backendstore/bulk-metrics.ts'
import { DeadLetters } from '../../src/backendstore/dead-letters.ts'
import type { Place, WantedStore } from '../../src/backendstore/engine-mirror.ts'
import { EngineMirrors, type EngineMirrorsOptions } from '../../src/backendstore/engine-mirrors.ts'
import type { EngineCredentials } from '../../src/backendstore/engine-store.ts'
import type { ScopedShard } from '../../src/backendstore/store-scope.ts'
import { whileLeading } from '../../src/leaderelection/leadership.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { newCache, pod, replace } from '../cache/objects.ts'
import { FakeEngine } from '../support/fake-engine.ts'

const pods = (...clusters: string[]): ScopedShard[] =>
  clusters.map((cluster) => ({ cluster, group: '', resource: 'pods', namespaces: undefined }))

const wanted = (address: string, shards: ScopedShard[], more: Partial<WantedStore> = {}): WantedStore => ({
  ...{ kind: 'opensearch', addresses: address.split(','), secretRef: undefined, registries: ['rr'], shards },
  ...more,
})

const HOUR_MS = 3_600_000

class FakeNotes {
  readonly texts = new Map<string, string>()
  failing = false

  async notes(): Promise<ReadonlyMap<string, string>> {
    this.#check()
    return new Map(this.texts)
  }

  async note(name: string, text: string): Promise<void> {
    this.#check()
    this.texts.set(name, text)
  }

  async forget(name: string): Promise<void> {
    this.#check()
    this.texts.delete(name)
  }

  #check(): void {
    if (this.failing) throw new Error('etcd is away')
  }
}

/** Two members with two pods each, and two engines by the names of their hosts. */
function world(t: TestContext) {
  const { cache, clock, open } = newCache()
  const engines = new Map(['one', 'two'].map((host) => [host, new FakeEngine(clock)]))
  const secrets = new Map<string, EngineCredentials | string>()
  const lines: string[] = []
  const registry = createMetricsRegistry()
  const leader = { leads: true, listeners: new Set<() => void>() }
  const leadership = {
    isLeader: () => leader.leads,
    onChange: (listener: () => void) => {
      leader.listeners.add(listener)
      return () => leader.listeners.delete(listener)
    },
  }
  const letters = new DeadLetters(() => clock.nowMs())
  const notes = new FakeNotes()
  const options: EngineMirrorsOptions = {
    ...{ notes, cache, clock, letters, random: () => 0 },
    logger: createLogger('debug', { write: (line: string) => void lines.push(line) }),
    metrics: new StoreMetrics(registry),
    installation: () => Promise.resolve('test'),
    whileLeading: (task, signal) => whileLeading(leadership, task, signal),
    credentials: (ref) => (ref === undefined ? {} : (secrets.get(ref.name) ?? 'Secret ns/creds does not exist')),
    open: (options) => {
      const engine = engines.get(new URL(options.addresses[0] ?? '').hostname)
      return engine === undefined ? Promise.reject(new Error('nobody there')) : engine.open(options)
    },
  }
  let mirrors = new EngineMirrors(options)
  const members = ['a', 'b'].map((name) => {
    const member = open(name)
    replace(member, [pod({ name: 'p' }, 1), pod({ name: 'q', namespace: 'other' }, 2)], 2)
    return member
  })
  const stop = async (): Promise<void> => {
    let closed = false
    void mirrors.close().then(() => (closed = true))
    await clock.advanceUntil(() => closed)
  }
  t.after(async () => {
    await stop()
    cache.close()
    assert.equal(clock.pending, 0)
  })
  const engine = (host: string): FakeEngine => engines.get(host)!
  /** In steps, so that what needs no time but many turns gets them. */
  const pass = async (ms: number): Promise<void> => {
    for (let step = 0; step < 50; step++) await clock.advance(ms / 50)
  }
  const apply = (stores: readonly WantedStore[], named: readonly Place[] | undefined = stores): void =>
    mirrors.apply(stores, named)
  return {
    notes,
    stop,
    /** Another process with the same registries. */
    startAnother() {
      mirrors = new EngineMirrors(options)
      return mirrors
    },
    ...{ mirrors, apply, pass, secrets, lines, registry, members, engine, letters },
    lead(leads: boolean) {
      leader.leads = leads
      for (const listener of [...leader.listeners]) listener()
    },
  }
}

test('each engine has what its registries ask for; what leaves the scope leaves the engine', async (t) => {
  const { apply, pass, engine, members } = world(t)
  const narrow = [{ ...pods('a')[0]!, namespaces: new Set(['other']) }]
  apply([wanted('http://one', pods('a', 'b')), wanted('http://two', narrow)])
  await pass(5_000)
  assert.equal(engine('one').documents.size, 4)
  assert.deepEqual(engine('two').names(), ['a/other/q@2'])
  members[0]?.apply('ADDED', pod({ name: 'new' }, 3))
  members[0]?.apply('ADDED', pod({ name: 'new', namespace: 'other' }, 4))
  await pass(5_000)
  assert.deepEqual(engine('two').names(), ['a/other/new@4', 'a/other/q@2'])
  apply([wanted('http://one', pods('b')), wanted('http://two', pods('a'))])
  await pass(5_000)
  assert.deepEqual(engine('one').names(), ['b/default/p@1', 'b/other/q@2'])
  assert.equal(engine('two').documents.size, 4)
  apply([wanted('http://one', pods('b')), wanted('http://two', narrow)])
  await pass(5_000)
  assert.deepEqual(engine('two').names(), ['a/other/new@4', 'a/other/q@2'])
})

test('an engine that is dead or slow holds up neither the other nor the cache', async (t) => {
  const { apply, pass, engine, members } = world(t)
  engine('one').faults.code = 'unreachable'
  apply([wanted('http://one', pods('a')), wanted('http://two', pods('a'))])
  await pass(1_000)
  assert.equal(engine('two').documents.size, 2)
  engine('one').faults.code = undefined
  engine('one').faults.latencyMs = 600_000
  members[0]?.apply('ADDED', pod({ name: 'new' }, 3))
  await pass(1_000)
  assert.equal(engine('two').documents.size, 3)
  engine('one').faults.latencyMs = 0
  await pass(1_300_000)
  assert.equal(engine('one').documents.size, 3)
})

test('an engine that no registry names is emptied; named again, it is filled again', async (t) => {
  const { apply, pass, engine, registry } = world(t)
  apply([wanted('http://one', pods('a', 'b'))])
  await pass(5_000)
  apply([])
  await pass(5_000)
  assert.equal(engine('one').calls.includes('clear'), true)
  assert.equal(engine('one').documents.size, 0)
  assert.doesNotMatch(await registry.metrics(), /store="opensearch/)
  apply([wanted('http://one', pods('a'))])
  await pass(5_000)
  assert.equal(engine('one').documents.size, 2)
  apply([])
  apply([wanted('http://one', pods('a', 'b'))])
  await pass(5_000)
  assert.equal(engine('one').documents.size, 4)
})

test('an engine that is to be emptied and does not answer is tried for a day', async (t) => {
  const { apply, pass, engine, lines, notes, stop, startAnother } = world(t)
  apply([wanted('http://one', pods('a'))])
  await pass(5_000)
  engine('one').faults.code = 'unreachable'
  apply([])
  await pass(23 * HOUR_MS)
  engine('one').calls = []
  await pass(HOUR_MS / 2)
  assert.ok(engine('one').calls.length > 0)
  await pass(HOUR_MS)
  assert.ok(lines.some((line) => line.includes('no longer written to') && line.includes('"emptied":false')))
  assert.equal(notes.texts.size, 1)
  engine('one').faults.code = undefined
  await stop()
  startAnother()
  apply([])
  await pass(60_000)
  assert.equal(engine('one').documents.size, 2)
  assert.equal(notes.texts.size, 0) // the day is over for those who come later, too
})

test('an engine that lost its last registry while nobody ran is emptied by whoever runs next, once registries are read', async (t) => {
  const { apply, pass, engine, notes, stop, startAnother } = world(t)
  apply([wanted('http://one', pods('a', 'b')), wanted('http://two', pods('a'))])
  await pass(5_000)
  assert.deepEqual([...notes.texts.keys()].sort(), ['engines/opensearch/one', 'engines/opensearch/two'])
  await stop()
  const mirrors = startAnother()
  mirrors.apply([], undefined)
  await pass(600_000)
  assert.equal(engine('one').documents.size, 4)
  apply([wanted('http://two', pods('a'))])
  await pass(5_000)
  assert.equal(engine('one').documents.size, 0)
  assert.equal(engine('two').documents.size, 2)
  assert.equal(engine('two').calls.includes('clear'), false)
  assert.deepEqual([...notes.texts.keys()], ['engines/opensearch/two'])
})

test('an engine that registries name and nobody may write to (one too many) is not emptied', async (t) => {
  const { apply, pass, engine, stop, startAnother } = world(t)
  apply([wanted('http://one', pods('a'))])
  await pass(5_000)
  await stop()
  startAnother()
  apply([], [wanted('http://one', [])])
  await pass(60_000)
  assert.equal(engine('one').documents.size, 2)
})

test('who stops leading while an engine is to be emptied leaves that to the next', async (t) => {
  const { apply, pass, engine, lead, notes } = world(t)
  apply([wanted('http://one', pods('a'))])
  await pass(5_000)
  engine('one').faults.code = 'unavailable'
  apply([])
  await pass(60_000)
  lead(false)
  await pass(60_000)
  engine('one').faults.code = undefined
  await pass(60_000)
  assert.equal(engine('one').documents.size, 2)
  assert.equal(notes.texts.size, 1)
  lead(true)
  await pass(5_000)
  assert.equal(engine('one').documents.size, 0)
  assert.equal(notes.texts.size, 0)
})

test('a Secret that goes along with the registry still opens the engine that is to be emptied', async (t) => {
  const { apply, pass, engine, secrets, mirrors } = world(t)
  secrets.set('creds', { username: 'u', password: 'p' })
  apply([wanted('http://one', pods('a'), { secretRef: { namespace: 'ns', name: 'creds' } })])
  await pass(5_000)
  engine('one').faults.code = 'unavailable'
  apply([])
  secrets.delete('creds')
  mirrors.credentialsChanged()
  await pass(60_000)
  engine('one').faults.code = undefined
  await pass(60_000)
  assert.equal(engine('one').documents.size, 0)
})

test('notes that cannot be kept are tried again and hold nothing up', async (t) => {
  const { apply, pass, engine, notes } = world(t)
  notes.failing = true
  apply([wanted('http://one', pods('a'))])
  await pass(5_000)
  assert.equal(engine('one').documents.size, 2)
  assert.equal(notes.texts.size, 0)
  notes.failing = false
  await pass(10_000)
  assert.equal(notes.texts.size, 1)
})

test('credentials come from the Secret, are waited for, and change without a restart', async (t) => {
  const { mirrors, apply, pass, engine, secrets } = world(t)
  const store = wanted('http://one', pods('a'), { secretRef: { namespace: 'ns', name: 'creds' } })
  apply([store])
  await pass(60_000)
  const [health] = mirrors.healthOf('rr')
  assert.equal(health?.failure?.code, 'unauthorized')
  assert.equal(health.failure.message, 'Secret ns/creds does not exist')
  secrets.set('creds', { username: 'u', password: 'first' })
  mirrors.credentialsChanged()
  await pass(3_000)
  assert.equal(engine('one').documents.size, 2)
  engine('one').faults.code = 'unauthorized'
  await pass(2_000)
  secrets.set('creds', { username: 'u', password: 'second' })
  engine('one').faults.code = undefined
  mirrors.credentialsChanged()
  apply([wanted('http://one', pods('a', 'b'), { secretRef: { namespace: 'ns', name: 'creds' } })])
  await pass(3_000)
  assert.equal(engine('one').documents.size, 4)
  assert.deepEqual(
    engine('one').opened.map(({ credentials }) => credentials.password),
    ['first', 'second'],
  )
})

test('addresses change without a restart; one in common is the same engine', async (t) => {
  const { mirrors, apply, pass, engine } = world(t)
  apply([wanted('http://one', pods('a'))])
  await pass(3_000)
  apply([wanted('http://one,http://standby', pods('a'))])
  await pass(3_000)
  assert.equal(engine('one').documents.size, 2)
  assert.deepEqual(
    [...mirrors.mirrors()].map(({ name }) => name),
    ['opensearch/one'],
  )
  apply([wanted('http://two', pods('a'))])
  await pass(3_000)
  assert.equal(engine('one').documents.size, 0)
  assert.equal(engine('two').documents.size, 2)
})

test('credentials in an address are used and shown to nobody', async (t) => {
  const { mirrors, apply, pass, engine, lines, registry } = world(t)
  engine('one').faults.code = 'forbidden'
  apply([wanted('http://user:hunter%32@one', pods('a'))])
  await pass(30_000)
  const shown = [lines.join(), await registry.metrics(), JSON.stringify(mirrors.healthOf('rr'))].join()
  assert.doesNotMatch(shown, /hunter/)
  assert.match(shown, /opensearch\/one/)
  assert.deepEqual(engine('one').opened[0], {
    kind: 'opensearch',
    addresses: ['http://one'],
    credentials: { username: 'user', password: 'hunter2' },
    installation: 'test',
  })
})

test('H7: only the leader writes, and whoever leads anew compares', async (t) => {
  const { mirrors, apply, pass, engine, lead, members } = world(t)
  lead(false)
  apply([wanted('http://one', pods('a'))])
  await pass(60_000)
  assert.deepEqual(engine('one').calls, [])
  assert.equal(mirrors.healthOf('rr')[0]?.writing, false)
  lead(true)
  await pass(3_000)
  assert.equal(engine('one').documents.size, 2)
  lead(false)
  members[0]?.apply('DELETED', pod({ name: 'p' }, 3))
  members[0]?.apply('ADDED', pod({ name: 'r' }, 4))
  await pass(60_000)
  assert.equal(engine('one').names().includes('a/default/p@1'), true)
  lead(true)
  await pass(3_000)
  assert.deepEqual(engine('one').names(), ['a/default/r@4', 'a/other/q@2'])
})

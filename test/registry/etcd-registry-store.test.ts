/** The faults of an etcd that cannot be had from a real one on demand; everything else is in test/integration. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceVersion } from '../../src/kube/names.ts'
import { isStatusError, type StatusCode } from '../../src/kube/status-error.ts'
import { EtcdRegistryStore } from '../../src/registry/etcd/registry-store.ts'
import { RegistryValues } from '../../src/registry/etcd/registry-values.ts'
import { PLAIN } from '../../src/registry/encryption/value-transformer.ts'
import type { RegistryEvent } from '../../src/registry/registry-store.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import {
  rangeReply,
  startFakeEtcd,
  watchAnswer,
  writeReply,
  type FakeEtcd,
  type FakeKeyValue,
} from '../support/fake-etcd.ts'
import { FakeClock, until } from '../support/fake-clock.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { input } from './fixture.ts'

const KEYS = '/registry/search.karmada.io/resourceRegistries'
const values = new RegistryValues(PLAIN)
const toValue = (registry: ReturnType<typeof input>): string => values.encode(KEYS, registry).toString()
const stored = (name: string, revision: number, created = revision): FakeKeyValue => {
  return { key: `${KEYS}/${name}`, value: toValue(input(name)), revision, created }
}

interface Fixture {
  readonly servers: readonly FakeEtcd[]
  readonly etcd: FakeEtcd
  readonly store: EtcdRegistryStore
  readonly clock: FakeClock
}

function newStore(servers: readonly string[], clock: FakeClock): EtcdRegistryStore {
  return new EtcdRegistryStore({ servers, clock, random: () => 0.5, logger: createLogger('silent') })
}

async function withStore(count: number, body: (fixture: Fixture) => Promise<void>): Promise<void> {
  const servers = await Promise.all(Array.from({ length: count }, () => startFakeEtcd()))
  const clock = new FakeClock()
  const store = newStore(
    servers.map(({ url }) => url),
    clock,
  )
  try {
    await body({ servers, etcd: servers[0]!, store, clock })
  } finally {
    await store.close()
    await Promise.all(servers.map((server) => server.close()))
    assert.equal(clock.pending, 0, 'timers left behind')
  }
}

const fails =
  (code: StatusCode, words = /./) =>
  (error: unknown): boolean =>
    isStatusError(error, code) && words.test(error.message)

test('answers that are no answers are told of, and the connection is used again', async () => {
  await withStore(1, async ({ etcd, store }) => {
    etcd.script.push(
      { status: 8, text: 'etcdserver: mvcc: database space exceeded' },
      { status: 14, text: 'etcdserver: no leader 100%' },
      { http: 404 },
      { bytes: Buffer.from('0000000003ffff', 'hex') },
      { bytes: Buffer.from('0100000000', 'hex') },
      { bytes: Buffer.from('00ffffffff', 'hex') },
      { message: Buffer.from('ffff', 'hex') },
      { status: 3, text: 'etcdserver: request is too large' },
    )
    await assert.rejects(store.get('a'), fails('serviceUnavailable', /database space exceeded/))
    await assert.rejects(store.get('a'), fails('serviceUnavailable', /no leader 100%/))
    await assert.rejects(store.get('a'), fails('serviceUnavailable', /HTTP status 404/))
    await assert.rejects(store.get('a'), fails('serviceUnavailable', /ended inside the call/))
    await assert.rejects(store.get('a'), fails('serviceUnavailable', /compressed/))
    await assert.rejects(store.get('a'), fails('serviceUnavailable', /too large/))
    await assert.rejects(store.get('a'), fails('serviceUnavailable', /malformed/))
    await assert.rejects(store.create(input('a')), fails('requestEntityTooLarge'))
    etcd.onCall = () => rangeReply(7, [stored('a', 5)])
    assert.equal((await store.get('a'))?.metadata.resourceVersion, '5')
    assert.equal(etcd.connections, 1)
  })
})

test('a connection that breaks under a call is replaced within the call', async () => {
  await withStore(1, async ({ etcd, store }) => {
    etcd.script.push(rangeReply(7), 'cut', rangeReply(8, [stored('a', 8)]))
    assert.equal(await store.get('a'), undefined)
    assert.equal((await store.get('a'))?.metadata.name, 'a')
    assert.equal(etcd.connections, 2)
    etcd.script.push('cut', 'cut')
    await assert.rejects(store.get('a'), fails('serviceUnavailable'))
  })
})

test('a member that is silent is left for the next, which is then asked first', async () => {
  await withStore(3, async ({ servers, store, clock }) => {
    const [one, two, three] = servers as [FakeEtcd, FakeEtcd, FakeEtcd]
    one.script.push('silence')
    two.script.push({ status: 14, text: 'etcdserver: no leader' })
    three.onCall = () => rangeReply(3)
    const got = store.get('a')
    await clock.advanceUntil(() => three.calls.length > 0)
    assert.equal(await got, undefined)
    assert.ok(clock.monotonicMs() <= 4_000)
    await store.get('a')
    assert.deepEqual([one.calls.length, two.calls.length, three.calls.length], [1, 1, 2])
  })
})

test('a write whose answer was lost is told by what is there', async () => {
  const another = { ...stored('a', 18), value: toValue(input('a', {}, { labels: { by: 'another' } })) }
  const cases = [
    { found: stored('a', 17), version: '17' }, // it was done
    { found: undefined, version: '20' }, // it was not, and is now
    { found: another, version: undefined },
  ]
  for (const { found, version } of cases) {
    await withStore(2, async ({ servers, store }) => {
      servers[0]?.script.push('cut')
      servers[1]?.script.push(writeReply(20, found))
      const created = store.create(input('a'))
      if (version === undefined) await assert.rejects(created, fails('alreadyExists'))
      else assert.equal((await created).metadata.resourceVersion, version)
    })
  }
})

test('a deletion whose answer was lost is done where nothing is left', async () => {
  await withStore(2, async ({ servers, store }) => {
    const [one, two] = servers as [FakeEtcd, FakeEtcd]
    one.script.push(rangeReply(19, [stored('a', 17)]), 'cut', 'cut')
    two.script.push(writeReply(20, 'nothing'))
    assert.equal((await store.delete('a', '17' as ResourceVersion)).metadata.resourceVersion, '20')
    two.script.push(rangeReply(21, [stored('a', 17)]), writeReply(22, 'nothing'))
    await assert.rejects(store.delete('a', '17' as ResourceVersion), fails('notFound'))
  })
})

test('a list that a compaction overtakes begins again, at a new revision', async () => {
  await withStore(1, async ({ etcd, store }) => {
    etcd.script.push(rangeReply(9, [stored('a', 5)], true), { status: 11, text: 'compacted' })
    etcd.script.push(rangeReply(12, [stored('b', 11)], true), rangeReply(14, [stored('c', 6)]))
    const { items, version } = await store.list()
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['b', 'c'],
    )
    assert.equal(version, '12')
    for (let i = 0; i < 3; i++) etcd.script.push(rangeReply(20, [stored('a', 5)], true), { status: 11 })
    await assert.rejects(store.list(), fails('expired'))
  })
})

/** Starts a watch from revision 10 and resolves with the stream the server sees. */
function watching(store: EtcdRegistryStore, events: RegistryEvent[], from = '10') {
  const abort = new AbortController()
  const read = async (): Promise<void> => {
    for await (const event of store.watch(from as ResourceVersion, abort.signal)) events.push(event)
  }
  const ended = read()
  ended.catch(() => undefined)
  return {
    ended,
    stop: async () => {
      abort.abort()
      await ended.catch(() => undefined)
    },
  }
}

const told = (events: readonly RegistryEvent[]): string[] =>
  events.map((event) =>
    event.type === 'BOOKMARK' ? `to ${event.version}` : `${event.type} ${event.object.metadata.name}`,
  )

test('a watch that breaks is resumed behind the last event, at the next member; parts of one answer are one', async () => {
  await withStore(2, async (fixture) => {
    const [one, two] = fixture.servers as [FakeEtcd, FakeEtcd]
    for (const server of [one, two]) server.onCall = () => rangeReply(10)
    const events: RegistryEvent[] = []
    const watch = watching(fixture.store, events)
    await until(() => one.watches.length === 1)
    assert.equal(one.watches[0]?.start, 11n)
    one.watches[0]?.send(watchAnswer({ revision: 10, created: true }))
    one.watches[0]?.send(watchAnswer({ revision: 11, puts: [stored('a', 11)] }))
    await until(() => events.length === 1)
    one.watches[0]?.send(watchAnswer({ revision: 12, fragment: true, puts: [stored('b', 12)] }))
    one.watches[0]?.end(14)
    await fixture.clock.advanceUntil(() => two.watches.length === 1)
    assert.equal(two.watches[0]?.start, 12n)
    two.watches[0]?.send(watchAnswer({ revision: 12, created: true }))
    two.watches[0]?.send(watchAnswer({ revision: 12, fragment: true, puts: [stored('b', 12)] }))
    two.watches[0]?.send(watchAnswer({ revision: 12, puts: [stored('c', 12)] }))
    two.watches[0]?.send(watchAnswer({ revision: 11 }))
    two.watches[0]?.send(watchAnswer({ revision: 30 }))
    await until(() => events.length === 4)
    assert.deepEqual(told(events), ['ADDED a', 'ADDED b', 'ADDED c', 'to 30'])
    two.watches[0]?.cut()
    await fixture.clock.advanceUntil(() => one.watches.length === 2)
    assert.equal(one.watches[1]?.start, 31n, 'from the bookmark')
    await watch.stop()
  })
})

test('a watch that hears nothing, not even an answer to a ping, is resumed elsewhere', async () => {
  await withStore(2, async ({ servers, clock }) => {
    const [one, two] = servers as [FakeEtcd, FakeEtcd]
    for (const server of [one, two]) server.onCall = () => rangeReply(10)
    const network = await startTcpProxy(Number(new URL(one.url).port))
    const store = newStore([`http://127.0.0.1:${network.port}`, two.url], clock)
    const watch = watching(store, [])
    await until(() => one.watches.length === 1)
    one.watches[0]?.send(watchAnswer({ revision: 10, created: true }))
    network.stall()
    await clock.advanceUntil(() => two.watches.length === 1, 1_000, 30_000)
    assert.ok(clock.monotonicMs() <= 17_000, `${clock.monotonicMs()} ms`)
    await watch.stop()
    await store.close()
    await network.close()
  })
})

test('a watch of compacted revisions, of another etcd, or of a history that was lost is expired', async () => {
  const answers = [
    [watchAnswer({ revision: 50, created: true }), watchAnswer({ revision: 50, compacted: 40 })],
    [watchAnswer({ revision: 50, created: true }), watchAnswer({ revision: 51, cluster: 2 })],
    // The member that lags behind is not alone: none has reached the revision.
    [watchAnswer({ revision: 4, created: true })],
  ]
  for (const [i, messages] of answers.entries()) {
    await withStore(1, async (fixture) => {
      const { etcd } = fixture
      etcd.script.push(rangeReply(10))
      etcd.onCall = () => rangeReply(4)
      const watch = watching(fixture.store, [])
      await until(() => etcd.watches.length === 1)
      for (const message of messages) etcd.watches[0]?.send(message)
      await assert.rejects(watch.ended, fails('expired'), `case ${i}`)
    })
  }
})

test('a member that only lags behind is waited for', async () => {
  await withStore(1, async (fixture) => {
    const { etcd } = fixture
    etcd.onCall = () => rangeReply(10)
    const events: RegistryEvent[] = []
    const watch = watching(fixture.store, events)
    await until(() => etcd.watches.length === 1)
    etcd.watches[0]?.send(watchAnswer({ revision: 4, created: true }))
    etcd.watches[0]?.send(watchAnswer({ revision: 11, puts: [stored('a', 11)] }))
    await until(() => events.length === 1)
    assert.deepEqual(told(events), ['ADDED a'])
    await watch.stop()
  })
})

test('a change whose past was compacted meanwhile cannot be told, so that the watch is expired', async () => {
  await withStore(1, async (fixture) => {
    const { etcd } = fixture
    etcd.onCall = () => rangeReply(10)
    const watch = watching(fixture.store, [])
    await until(() => etcd.watches.length === 1)
    etcd.watches[0]?.send(watchAnswer({ revision: 10, created: true }))
    etcd.watches[0]?.send(watchAnswer({ revision: 11, puts: [stored('a', 11, 3)] }))
    await assert.rejects(watch.ended, fails('expired'))
  })
})

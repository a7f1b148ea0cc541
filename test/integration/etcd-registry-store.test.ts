import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { ResourceVersion } from '../../src/kube/names.ts'
import { isStatusError } from '../../src/kube/status-error.ts'
import { parseEncryptionConfiguration } from '../../src/registry/encryption/encryption-configuration.ts'
import { EtcdRegistryStore, type EtcdRegistryStoreOptions } from '../../src/registry/etcd/registry-store.ts'
import { ResourceRegistries } from '../../src/registry/resource-registries.ts'
import type { RegistryEvent, RegistryStore } from '../../src/registry/registry-store.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { systemClock, systemRandom, type Clock } from '../../src/util/clock.ts'
import { registryStoreSuite } from '../conformance/registry-store-suite.ts'
import { input } from '../registry/fixture.ts'
import { createAuthority } from '../support/certificates.ts'
import { until } from '../support/fake-clock.ts'
import { startEtcd, type EtcdMember, type RealEtcd } from '../support/real-parts/etcd.ts'

const KEYS = '/registry/search.karmada.io/resourceRegistries'

function open(servers: readonly string[], options: Partial<EtcdRegistryStoreOptions> = {}): EtcdRegistryStore {
  return new EtcdRegistryStore({
    servers,
    clock: systemClock,
    random: systemRandom,
    logger: createLogger('silent'),
    ...options,
  })
}

const configuration = (...resources: readonly object[]): string =>
  JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources })

const unavailable = (error: unknown): boolean => isStatusError(error, 'serviceUnavailable')
const versionOf = (object: { metadata: { resourceVersion: string } }): ResourceVersion =>
  object.metadata.resourceVersion as ResourceVersion

/** What a watch brings, collected in the background. */
function collect(store: RegistryStore, from: ResourceVersion) {
  const abort = new AbortController()
  const events: RegistryEvent[] = []
  const read = async (): Promise<void> => {
    for await (const event of store.watch(from, abort.signal)) events.push(event)
  }
  const ended = read()
  ended.catch(() => undefined)
  return {
    events,
    ended,
    names: () =>
      events.flatMap((event) => (event.type === 'BOOKMARK' ? [] : [`${event.type} ${event.object.metadata.name}`])),
    async stop(): Promise<void> {
      abort.abort()
      await ended.catch(() => undefined)
    },
  }
}

async function elapsedMs(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await action()
  return performance.now() - start
}

/** Resolves when it does nothing any more. */
async function freeze({ process: { pid, signal } }: EtcdMember): Promise<void> {
  signal('STOP')
  const state = async (): Promise<string> =>
    (await promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pid)])).stdout
  while (!(await state()).startsWith('T')) await delay(10)
}

describe('registries in one etcd', () => {
  let etcd: RealEtcd
  let prefixes = 0

  before(async () => {
    etcd = await startEtcd({ flags: ['--watch-progress-notify-interval=1s'] })
    for (const value of ['1', '2', '3']) await etcd.put('other', value)
    await etcd.compact()
  })
  after(() => etcd.stop())

  // Each its own prefix, so that each is empty. Pages of two show what hundreds of registries would.
  const newStore = async (): Promise<EtcdRegistryStore> =>
    open(etcd.urls, { prefix: `registry-${++prefixes}/`, pageSize: 2 })
  registryStoreSuite('etcd', newStore, { writesUntilForgotten: 2, forget: () => etcd.compact() })

  it('reads what a karmada-search wrote, updates it in place, and leaves it readable by its rules', async () => {
    const store = open(etcd.urls)
    const registries = new ResourceRegistries({ store, clock: systemClock, random: systemRandom, newUid: randomUUID })
    const text = readFileSync(new URL('../fixtures/karmada-search/etcd-value.json', import.meta.url), 'utf8')
    const written = JSON.parse(text) as Record<string, object>
    // Fields that a later version may add.
    const later = {
      ...written,
      spec: {
        ...written['spec'],
        priority: 7,
        resourceSelectors: [
          { apiVersion: 'v1', kind: 'Pod', names: ['web'] },
          { apiVersion: 'v1', kind: 'Node' },
        ],
      },
    }
    const revision = await etcd.put(`${KEYS}/all`, `${JSON.stringify(later)}\n`)
    const read = await registries.find('all')
    assert.equal(read.metadata.resourceVersion, String(revision))
    assert.equal(read.metadata.uid, '3174c7c9-1fcf-4466-b582-421ab1950d0e')
    assert.deepEqual(read.spec.resourceSelectors, [
      { apiVersion: 'v1', kind: 'Pod' },
      { apiVersion: 'v1', kind: 'Node' },
    ])
    assert.deepEqual((await registries.list()).items, [read])

    const updated = await registries.update('all', (stored) => ({
      ...stored,
      spec: { ...stored.spec, targetCluster: { clusterNames: ['member1'] } },
    }))
    assert.equal(updated.metadata.generation, 1)
    const stored = await etcd.get(`${KEYS}/all`)
    assert.equal(stored?.modRevision, updated.metadata.resourceVersion)
    assert.ok(stored?.value.endsWith('}\n'))
    const { metadata, ...rest } = JSON.parse(stored.value) as { metadata: Record<string, unknown> }
    assert.equal(metadata['resourceVersion'], undefined)
    assert.deepEqual(rest, {
      kind: 'ResourceRegistry',
      apiVersion: 'search.karmada.io/v1alpha1',
      spec: { ...later.spec, targetCluster: { clusterNames: ['member1'] } },
      status: {},
    })
    await registries.delete('all')
    assert.equal(await etcd.get(`${KEYS}/all`), undefined)
    await store.close()
  })

  it('a value that cannot be read hides no other, and is told of by name', async () => {
    const store = open(etcd.urls, { prefix: '/broken' })
    const keys = '/broken/search.karmada.io/resourceRegistries'
    const good = await store.create(input('good'))
    await etcd.put(`${keys}/text`, 'no json')
    await etcd.put(`${keys}/secret`, 'k8s:enc:aescbc:v1:key1:\u0001\u0002')
    await etcd.put(`${keys}/deeper/key`, '{}')
    assert.deepEqual((await store.list()).items, [good])
    await assert.rejects(
      store.get('secret'),
      (error) => isStatusError(error, 'internal') && /encrypted/.test(error.message),
    )
    const watch = collect(store, versionOf(good))
    await etcd.put(`${keys}/good`, 'no json')
    await store.create(input('later'))
    await until(() => watch.names().length === 2)
    assert.deepEqual(watch.names(), ['DELETED good', 'ADDED later'])
    await watch.stop()
    await store.close()
  })

  it('notes are encrypted as registries are, written anew under a new key, and one that cannot be read hides no other', async () => {
    const rule = (name: string): object => ({
      resources: ['*.*'],
      providers: [
        { aescbc: { keys: [{ name, secret: Buffer.alloc(32, name).toString('base64') }] } },
        { identity: {} },
      ],
    })
    const by = (name: string): EtcdRegistryStore =>
      open(etcd.urls, { prefix: '/notes', transformer: parseEncryptionConfiguration(configuration(rule(name))) })
    const stores = { plain: open(etcd.urls, { prefix: '/notes' }), one: by('one'), two: by('two') }
    const at = '/notes/search.karmada.io/fleetsearch/engines/x'
    await stores.one.note('engines/x', 'https://user:hunter2@host')
    assert.match((await etcd.get(at))?.value ?? '', /^k8s:enc:aescbc:v1:one:/)
    assert.deepEqual(await stores.one.notes(), new Map([['engines/x', 'https://user:hunter2@host']]))
    await stores.plain.note('engines/y', 'plain')
    assert.deepEqual(await stores.two.notes(), new Map([['engines/y', 'plain']]))
    await stores.two.note('engines/x', 'again')
    assert.match((await etcd.get(at))?.value ?? '', /^k8s:enc:aescbc:v1:two:/)
    await Promise.all(Object.values(stores).map((store) => store.close()))
  })

  it('several processes share it: each sees what the others write', async () => {
    const [one, two] = [open(etcd.urls, { prefix: '/shared' }), open(etcd.urls, { prefix: '/shared' })]
    const watch = collect(two, (await two.list()).version)
    const created = await one.create(input('a'))
    await assert.rejects(two.create(input('a')), (error) => isStatusError(error, 'alreadyExists'))
    await two.delete('a', versionOf(created))
    await assert.rejects(one.delete('a', versionOf(created)), (error) => isStatusError(error, 'notFound'))
    await until(() => watch.names().length === 2)
    assert.deepEqual(watch.names(), ['ADDED a', 'DELETED a'])
    await watch.stop()
    await Promise.all([one.close(), two.close()])
  })

  it('a resumed watch goes back before this process, until revisions are compacted', async () => {
    const first = open(etcd.urls, { prefix: '/resumed' })
    const { version } = await first.list()
    const a = await first.create(input('a'))
    await first.create(input('b'))
    await first.close()
    const second = open(etcd.urls, { prefix: '/resumed' })
    const live = collect(second, (await second.list()).version)
    await second.create(input('c'))
    await until(() => live.names().length === 1)
    const resumed = collect(second, version)
    await until(() => resumed.names().length === 3)
    assert.deepEqual(resumed.names(), ['ADDED a', 'ADDED b', 'ADDED c'])
    await second.update({ ...a, status: {} }, versionOf(a))
    await etcd.compact()
    await until(() => resumed.names().length === 4 && live.names().length === 2)
    await assert.rejects(collect(second, version).ended, (error) => isStatusError(error, 'expired'))
    await second.create(input('d'))
    await until(() => resumed.names().length === 5 && live.names().length === 3)
    await Promise.all([live.stop(), resumed.stop()])
    await second.close()
  })

  it('tells how far a quiet watch has come, so that it can be resumed from there', async () => {
    // What is asked for twice a minute is asked for at once; the server's own notices come each second here.
    const eager: Clock = {
      ...systemClock,
      setTimeout: (callback, ms) => systemClock.setTimeout(callback, ms === 30_000 ? 50 : ms),
    }
    for (const clock of [systemClock, eager]) {
      const store = open(etcd.urls, { prefix: '/quiet', clock })
      const watch = collect(store, (await store.list()).version)
      const revision = await etcd.put('other', 'x')
      const told = (): boolean =>
        watch.events.some((event) => event.type === 'BOOKMARK' && Number(event.version) >= revision)
      const limitMs = clock === eager ? 900 : 5_000
      const start = performance.now()
      await until(told, 'a bookmark', limitMs)
      assert.ok(performance.now() - start < limitMs)
      assert.ok(watch.events.every(({ type }) => type === 'BOOKMARK'))
      await watch.stop()
      await store.close()
    }
  })

  it('compacts old revisions in turns with everybody else who does', async () => {
    const stores = [1, 2].map(() => open(etcd.urls, { prefix: '/compacted', compactionIntervalMs: 300 }))
    const [store] = stores
    const { version } = await store!.list()
    await store!.create(input('a'))
    const abort = new AbortController()
    const running = stores.map((each) => each.run(abort.signal))
    const isExpired = async (): Promise<boolean> => {
      const signal = AbortSignal.timeout(100)
      try {
        for await (const _ of store!.watch(version, signal)) continue
        return false
      } catch (error) {
        return isStatusError(error, 'expired')
      }
    }
    while (!(await isExpired())) await delay(100)
    const turns = await etcd.get('compact_rev_key')
    assert.match(turns?.value ?? '', /^[0-9]+$/)
    assert.equal((await store!.list()).items.length, 1)
    abort.abort()
    await Promise.all([...running, ...stores.map((each) => each.close())])
  })

  it('what etcd finds too large is told so', async () => {
    const store = open(etcd.urls, { prefix: '/large' })
    const big = input('big', {}, { annotations: { note: 'x'.repeat(2_000_000) } })
    await assert.rejects(store.create(big), (error) => isStatusError(error, 'requestEntityTooLarge'))
    await store.close()
  })
})

describe('an etcd in trouble', () => {
  let etcd: RealEtcd

  before(async () => {
    etcd = await startEtcd()
  })
  after(() => etcd.stop())

  it('that is killed is told of at once, and used again when it is back', async () => {
    const [member] = etcd.members
    const store = open(etcd.urls)
    await store.create(input('before'))
    const watch = collect(store, (await store.list()).version)
    await store.create(input('seen'))
    await until(() => watch.events.length === 1)
    await member!.kill()
    const ms = await elapsedMs(() => assert.rejects(store.list(), unavailable))
    assert.ok(ms < 2_000, `${ms} ms`)
    await assert.rejects(store.create(input('lost')), unavailable)
    await assert.rejects(collect(store, '1' as ResourceVersion).ended, unavailable)
    await member!.start()
    await store.create(input('after'))
    await until(() => watch.names().length === 2, 'the watch to go on')
    assert.deepEqual(watch.names(), ['ADDED seen', 'ADDED after'])
    await watch.stop()
    await store.close()
  })

  it('that hangs is told of within seconds, and used again when it goes on', async () => {
    const [member] = etcd.members
    const store = open(etcd.urls, { prefix: '/hung' })
    await store.create(input('a'))
    const watch = collect(store, (await store.list()).version)
    await store.create(input('b'))
    await until(() => watch.events.length === 1)
    await freeze(member!)
    // With a connection, and then without one: the operating system still takes it.
    for (const attempt of [1, 2]) {
      const ms = await elapsedMs(() => assert.rejects(store.get('a'), unavailable))
      assert.ok(ms < 9_000, `attempt ${attempt}: ${ms} ms`)
    }
    member!.process.signal('CONT')
    assert.equal((await store.get('a'))?.metadata.name, 'a')
    await store.create(input('c'))
    await until(() => watch.names().length === 2, 'the watch to go on', 20_000)
    await watch.stop()
    await store.close()
  })

  it('whose history is lost ends the watches of the old one as expired', async () => {
    const [member] = etcd.members
    const store = open(etcd.urls, { prefix: '/lost' })
    for (const name of ['a', 'b', 'c']) await store.create(input(name))
    const watch = collect(store, (await store.list()).version)
    await store.create(input('d'))
    await until(() => watch.events.length === 1)
    await member!.kill()
    await member!.start({ fresh: true })
    await assert.rejects(watch.ended, (error) => isStatusError(error, 'expired'))
    assert.deepEqual((await store.list()).items, [])
    await store.close()
  })
})

describe('an etcd of three members', () => {
  let etcd: RealEtcd

  before(async () => {
    etcd = await startEtcd({ members: 3 })
  })
  after(() => etcd.stop())

  it('loses one after another without a failed request, and nothing of a watch', async () => {
    const store = open(etcd.urls)
    const watch = collect(store, (await store.list()).version)
    const names: string[] = []
    for (const [i, member] of etcd.members.entries()) {
      await member.kill()
      // A majority of two may be electing.
      while ((await store.list().catch(() => undefined)) === undefined) await delay(100)
      for (const name of [`x${i}`, `y${i}`]) {
        await store.create(input(name))
        names.push(`ADDED ${name}`)
      }
      await member.start()
    }
    await until(() => watch.names().length === names.length, 'all events', 20_000)
    assert.deepEqual(watch.names(), names)
    await watch.stop()
    await store.close()
  })

  it('without a majority is not available, and is again with one', async () => {
    const store = open(etcd.urls)
    await store.list()
    await Promise.all(etcd.members.slice(1).map((member) => member.kill()))
    const ms = await elapsedMs(() => assert.rejects(store.list(), unavailable))
    assert.ok(ms < 11_000, `${ms} ms`)
    await Promise.all(etcd.members.slice(1).map((member) => member.start()))
    await store.list()
    await store.close()
  })
})

describe('an etcd with TLS', () => {
  let etcd: RealEtcd

  before(async () => {
    etcd = await startEtcd({ tls: true })
  })
  after(() => etcd.stop())

  it('is believed by its CA, and believes us by our certificate', async () => {
    const store = open(etcd.urls, { files: etcd.files })
    const created = await store.create(input('a'))
    assert.deepEqual(await store.get('a'), created)
    await store.close()
  })

  it('under another CA is refused, and so are we without a certificate', async () => {
    const other = path.join(etcd.folder, 'other.crt')
    await writeFile(other, (await createAuthority('other')).certPem)
    const { caFile } = etcd.files
    const cases = [
      { files: { ...etcd.files, caFile: other }, words: /certificate/ },
      { files: {}, words: /certificate/ },
      { files: { caFile }, words: /certificate required|alert|closed/ },
      { files: { ...etcd.files, certFile: '/no/such/file' }, words: /no such file/ },
    ]
    for (const { files, words } of cases) {
      const store = open(etcd.urls, { files })
      const ms = await elapsedMs(() =>
        assert.rejects(store.list(), (error) => unavailable(error) && words.test((error as Error).message)),
      )
      assert.ok(ms < 3_000, `${ms} ms`)
      await store.close()
    }
  })

  it('that was refused is used once the file is mended, without a restart', async () => {
    const caFile = path.join(etcd.folder, 'mended.crt')
    await writeFile(caFile, (await createAuthority('other')).certPem)
    const store = open(etcd.urls, { files: { ...etcd.files, caFile } })
    await assert.rejects(store.list(), unavailable)
    await copyFile(etcd.files.caFile, caFile)
    assert.notEqual((await store.list()).version, '')
    await store.close()
  })
})

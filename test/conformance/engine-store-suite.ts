/** What stores in engines do beyond every store: versions, indices, mapping, stored objects, faults. Over a real engine. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { BackendStore, Change, ManifestEntry, Upsert } from '../../src/backendstore/backend-store.ts'
import { digestOf } from '../../src/backendstore/digest.ts'
import { isBackendStoreError } from '../../src/backendstore/errors.ts'
import { openElasticsearchStore } from '../../src/backendstore/elasticsearch/store.ts'
import { openOpenSearchStore } from '../../src/backendstore/opensearch/store.ts'
import { openEngineStore } from '../../src/backendstore/search-engine/open-engine-store.ts'
import { parseQuery } from '../../src/query/parser.ts'
import { resolveQuery } from '../../src/query/resolve.ts'
import { engineOptions, newEngineStore, removeIndices } from '../support/engine-stores.ts'
import { FAKE_EPOCH_MS } from '../support/fake-clock.ts'
import { freePorts } from '../support/free-port.ts'
import { eventually } from '../support/whole-service.ts'
import type { RealSearchEngine } from '../support/real-parts/index.ts'
import { allFields, ask, namesFound } from '../support/search.ts'
import { PODS, upsert, WIDGETS } from './backend-store-suite.ts'

/** As an engine shows it, without ours. */
interface StoredObject {
  readonly _id: string
  readonly _source: { readonly metadata: Record<string, unknown> } & Record<string, unknown>
}

async function* manifest(...entries: readonly ManifestEntry[]): AsyncGenerator<readonly ManifestEntry[]> {
  yield await Promise.resolve(entries)
}

const entry = (name: string, version = '1', uid = `uid-${name}`): ManifestEntry => ({
  namespace: 'default',
  name,
  uid,
  resourceVersion: version,
})

const remove = (name: string, resourceVersion?: string): Change => ({
  type: 'delete',
  ...PODS,
  namespace: 'default',
  name,
  ...(resourceVersion === undefined ? {} : { resourceVersion }),
})

export function engineStoreSuite(running: () => RealSearchEngine): void {
  let engine: RealSearchEngine
  let store: BackendStore
  before(() => {
    engine = running()
  })
  beforeEach(async () => {
    await store?.close()
    store = await newEngineStore(engine)
  })
  after(() => store.close())

  /** Opened as if documents and mapping were of another version. */
  const openVersion = (version: string): Promise<BackendStore> => {
    const options = { ...engineOptions(engine), version }
    return options.kind === 'opensearch' ? openOpenSearchStore(options) : openElasticsearchStore(options)
  }
  const versionsFound = async (): Promise<unknown[]> => {
    const { hits } = (await engine.client.ok('/kubernetes-pod/_search?size=100')) as { hits: { hits: StoredObject[] } }
    return hits.hits.map(({ _source }) => [_source.metadata['name'], _source.metadata['resourceVersion']]).sort()
  }

  /** By the engine's own count, one for each shard of each state. */
  const heldStates = async (): Promise<number> => {
    const { nodes } = (await engine.client.ok('/_nodes/stats/indices/search')) as {
      nodes: Record<string, { indices: { search: { open_contexts: number; point_in_time_current?: number } } }>
    }
    const counts = Object.values(nodes).map(
      ({ indices: { search } }) => search.point_in_time_current ?? search.open_contexts,
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }

  describe('versions', () => {
    test('H7: a late write loses against a newer version and against a newer delete', async () => {
      await store.write([upsert('a', { version: '5' }), upsert('b', { version: '5' })])
      await store.write([upsert('a', { version: '6' }), remove('b', '7')])
      const late = await store.write([upsert('a', { version: '5' }), upsert('b', { version: '5' })])
      assert.deepEqual([late.written, late.unchanged], [0, 2])
      await ask(store, '')
      assert.deepEqual(await versionsFound(), [['a', '6']])
      const lateDelete = await store.write([remove('a', '5')])
      assert.deepEqual([lateDelete.deleted, lateDelete.unchanged], [0, 1])
      assert.deepEqual(await namesFound(store, ''), ['default/a'])
    })

    test('H7: the packet of another writer that arrives late is refused by the engine itself', async () => {
      await store.write([upsert('a', { version: '6' }), upsert('b', { version: '6' })])
      await store.write([remove('b', '7')])
      const action = (name: string): object => ({
        index: {
          _index: 'fleetsearch-test-pod',
          _id: `member1//pods/default/${name}`,
          version: 5,
          version_type: 'external_gte',
        },
      })
      const lines = ['a', 'b'].flatMap((name) => [action(name), {}]).map((line) => `${JSON.stringify(line)}\n`)
      const headers = { 'content-type': 'application/x-ndjson' }
      const { items } = await engine.client.ok('/_bulk', { method: 'POST', body: lines.join(''), headers })
      assert.deepEqual(
        items.map((item: { index: { status: number } }) => item.index.status),
        [409, 409],
      )
    })

    test('a restored member, an object that came again and a shard that is back are written whatever stood there', async () => {
      await store.write([upsert('restored', { version: '900' }), upsert('again', { version: '900', uid: 'u1' })])
      await store.write([upsert('back', { version: '900' })])
      const { written } = await store.write([
        { ...upsert('restored', { version: '50' }), force: true } as Upsert,
        upsert('again', { version: '60', uid: 'u2' }),
      ])
      assert.equal(written, 2)
      await store.write([upsert('restored', { version: '51' })]) // counts on from there
      await ask(store, '')
      assert.deepEqual(await versionsFound(), [
        ['again', '60'],
        ['back', '900'],
        ['restored', '51'],
      ])
      await store.dropShard(PODS)
      assert.equal((await store.write([upsert('back', { version: '900' })])).written, 1)
      assert.deepEqual(await namesFound(store, ''), ['default/back'])
    })

    test('two writers at once leave the newest', async () => {
      const other = await openEngineStore(engineOptions(engine))
      const batch = (version: number): Change[] =>
        Array.from({ length: 50 }, (_, i) =>
          upsert(`p${i}`, { version: String(version), labels: { v: `v${version}` } }),
        )
      await Promise.all([1, 2, 3, 4, 5, 6].map((v) => (v % 2 === 0 ? store : other).write(batch(v))))
      await other.close()
      await store.write([])
      assert.equal((await ask(store, 'label.v=v6')).total, 50)
    })
  })

  describe('items', () => {
    test('H4: each item of a bulk has its own outcome, matched rightly', async () => {
      await store.write([upsert('e')])
      const unreadable = { ...upsert('c'), bytes: Buffer.from('{"metadata": {') }
      const summary = await store.write([upsert('a'), remove('b'), unreadable, upsert('d'), remove('e')])
      assert.deepEqual([summary.written, summary.deleted, summary.unchanged], [2, 1, 1])
      assert.deepEqual(
        summary.rejected.map(({ name }) => name),
        ['c'],
      )
      assert.match(summary.rejected[0]!.reason, /JSON/)
      assert.deepEqual(summary.deferred, [])
      assert.deepEqual(await namesFound(store, ''), ['default/a', 'default/d'])
    })

    test('an index that only lets itself be read: readOnly, and written once it is not', async () => {
      await store.write([upsert('a')])
      const block = (on: boolean | null): Promise<unknown> =>
        engine.client.ok('/kubernetes-pod/_settings', { method: 'PUT', body: { 'index.blocks.write': on } })
      await block(true)
      await assert.rejects(store.write([upsert('b')]), (error) => isBackendStoreError(error, 'readOnly'))
      assert.deepEqual(await namesFound(store, ''), ['default/a'])
      await block(null)
      assert.equal((await store.write([upsert('b')])).written, 1)
    })

    test('an index that somebody removed is made again, with its mapping', async () => {
      await store.write([upsert('a', { labels: { app: 'web' } })])
      await removeIndices(engine)
      const { deferred } = await store.write([upsert('b')])
      assert.deepEqual(
        deferred?.map(({ name }) => name),
        ['b'],
      )
      assert.equal((await store.write([upsert('a', { labels: { app: 'web' } }), upsert('b')])).written, 2)
      assert.deepEqual(await namesFound(store, 'label.app=web'), ['default/a'])
    })
  })

  describe('mapping', () => {
    test('H1 H3: nothing that objects have adds to it, and nothing is refused', async () => {
      await store.write([upsert('first'), upsert('first', { shard: WIDGETS })])
      const mappings = async (): Promise<string> => JSON.stringify(await engine.client.ok('/fleetsearch-test/_mapping'))
      const before = await mappings()
      const deep = (i: number): object =>
        Array.from({ length: 25 }).reduce<object>((inner, _, level) => ({ [`k${i}x${level}`]: inner }), { leaf: i })
      const ports = [80, 'http', { name: 'x' }, [443, '443'], null, true]
      const changes = [
        upsert('d1', { labels: { app: 'a' } }),
        upsert('d2', { labels: { 'app.kubernetes.io/name': 'b', 'app.kubernetes.io': 'c' } }),
        upsert('d3', { annotations: { a: '1', 'a.b': '2', 'a.b.c': '3' } }),
        ...Array.from({ length: 1_500 }, (_, i) =>
          upsert(`p${i}`, { labels: { [`label-${i}`]: 'x' }, annotations: { [`note-${i}`]: 'y' } }),
        ),
        ...Array.from({ length: 200 }, (_, i) =>
          upsert(`w${i}`, { shard: WIDGETS, body: { spec: { tree: deep(i), port: ports[i % ports.length] } } }),
        ),
        upsert('long', { annotations: { note: 'x'.repeat(200_000) }, body: { spec: { text: 'y'.repeat(100_000) } } }),
      ]
      const { written, rejected, deferred } = await store.write(changes)
      assert.deepEqual({ written, rejected, deferred }, { written: changes.length, rejected: [], deferred: [] })
      assert.equal(await mappings(), before)
      assert.deepEqual(await namesFound(store, 'label.label-1234=x'), ['default/p1234'])
    })

    test('objects stand there as karmada-search wrote them, Secrets without their values', async () => {
      const secrets = { ...PODS, resource: 'secrets', kind: 'Secret' }
      const works = { ...PODS, group: 'work.karmada.io', version: 'v1alpha1', resource: 'works', kind: 'Work' }
      const inner = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { password: 'aHVudGVyMg==' } }
      await store.write([
        upsert('p', {
          labels: { app: 'web', 'a.b/c': 'd' },
          annotations: { note: 'x' },
          created: '2026-01-02T03:04:05Z',
          body: { spec: { nodeName: 'n1', id: 9_007_199_254 }, status: { phase: 'Running' } },
        }),
        upsert('s', {
          shard: secrets,
          annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"password":"aHVudGVyMg=="}}' },
          body: { data: { password: 'aHVudGVyMg==' }, stringData: { token: 'hunter2' } },
        }),
        upsert('w', { shard: works, body: { spec: { workload: { manifests: [inner] } } } }),
      ])
      await ask(store, '')
      const found = (await engine.client.ok('/kubernetes-*/_search?size=10')) as { hits: { hits: StoredObject[] } }
      const pod = found.hits.hits.find(({ _id }) => _id === 'member1//pods/default/p')
      assert.deepEqual(pod?._source, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: 'p',
          namespace: 'default',
          uid: 'uid-p',
          resourceVersion: '1',
          creationTimestamp: '2026-01-02T03:04:05Z',
          labels: { app: 'web', 'a.b/c': 'd' },
          annotations: { note: 'x' },
        },
        spec: '{"nodeName":"n1","id":9007199254}',
        status: '{"phase":"Running"}',
      })
      const all = JSON.stringify(found)
      for (const secret of ['aHVudGVyMg', 'hunter2']) assert.equal(all.includes(secret), false, secret)
      assert.match(all, /password/)
      const byName = (await engine.client.ok('/kubernetes-pod/_count', {
        body: { query: { term: { 'metadata.name.keyword': 'p' } } },
      })) as { count: number }
      assert.equal(byName.count, 1)
    })

    test('documents of another version are found all the time, move one by one, and their index goes', async () => {
      await store.close()
      await removeIndices(engine)
      const old = await openVersion('0.old')
      await old.write([upsert('a', { labels: { app: 'web' } }), upsert('b'), upsert('gone')])
      await ask(old, '') // so that others see it, too
      await old.close()
      store = await openVersion('0.new')
      assert.deepEqual(await namesFound(store, 'label.app=web'), ['default/a'])
      const entries = [entry('a'), entry('b')]
      assert.notDeepEqual(await store.digest?.(PODS), await digestOf(manifest(...entries)))
      const names = await store.compare(PODS, manifest(...entries))
      assert.deepEqual(names.map(({ name }) => name).sort(), ['a', 'b', 'gone'])
      await store.write([upsert('a', { labels: { app: 'web' } })])
      assert.deepEqual(await namesFound(store, ''), ['default/a', 'default/b', 'default/gone'])
      await store.write([upsert('b'), remove('gone')])
      assert.deepEqual(await namesFound(store, ''), ['default/a', 'default/b'])
      assert.deepEqual(await store.digest?.(PODS), await digestOf(manifest(...entries)))
      assert.deepEqual(await store.compare(PODS, manifest(...entries)), [])
      const left = (await engine.client.ok('/_cat/indices/fleetsearch-test-0.*?format=json')) as { index: string }[]
      assert.deepEqual(
        left.map(({ index }) => index),
        ['fleetsearch-test-0.new-pod'],
      )
      assert.deepEqual(await namesFound(store, ''), ['default/a', 'default/b'])
    })
  })

  describe('installations', () => {
    const indices = async (): Promise<string[]> => {
      const found = (await engine.client.ok('/_cat/indices/fleetsearch-*?format=json')) as { index: string }[]
      return found.map(({ index }) => index)
    }
    const names = async (of: BackendStore): Promise<string[]> => {
      const entries = (await of.shards()).map(({ cluster, resource, objects }) => `${cluster} ${resource} ${objects}`)
      return [...entries, ...(await namesFound(of, ''))]
    }

    test('two share an engine: neither finds, replaces, compares or removes what is the other’s', async () => {
      const other = await openEngineStore({ ...engineOptions(engine), installation: 'test2' })
      try {
        await store.write([upsert('a', { version: '5' }), upsert('b')])
        await other.write([upsert('a', { version: '3', uid: 'another' }), upsert('w', { shard: WIDGETS })])
        assert.deepEqual(await names(store), ['member1 pods 2', 'default/a', 'default/b'])
        assert.deepEqual(await names(other), ['member1 pods 1', 'member1 widgets 1', 'default/a', 'default/w'])
        assert.deepEqual(await store.compare(PODS, manifest(entry('a', '5'), entry('b'))), [])
        assert.deepEqual(await other.digest?.(PODS), await digestOf(manifest(entry('a', '3', 'another'))))
        const { count } = (await engine.client.ok('/kubernetes-pod/_count')) as { count: number }
        assert.equal(count, 3)
        await other.dropShard(PODS)
        await other.clear?.()
        assert.deepEqual(await names(other), [])
        assert.deepEqual(await names(store), ['member1 pods 2', 'default/a', 'default/b'])
        assert.equal((await other.write([upsert('c')])).written, 1)
        assert.deepEqual(await names(other), ['member1 pods 1', 'default/c'])
      } finally {
        await other.clear?.()
        await other.close()
      }
    })

    test('of what is cleared no index and no template is left; what is written then finds both again', async () => {
      await store.write([upsert('a'), upsert('w', { shard: WIDGETS })])
      await store.clear?.()
      assert.deepEqual(await indices(), [])
      const templates = await engine.client.request('/_index_template/fleetsearch-test-*')
      assert.deepEqual(templates.json(), { index_templates: [] })
      assert.deepEqual(await namesFound(store, ''), [])
      assert.equal((await store.write([upsert('a')])).written, 1)
      assert.deepEqual(await namesFound(store, ''), ['default/a'])
      await store.clear?.()
      await store.clear?.()
      assert.deepEqual(await store.shards(), [])
    })
  })

  describe('reading', () => {
    test('a snapshot stays at its state while objects come and go', async () => {
      await store.write(Array.from({ length: 25 }, (_, i) => upsert(`p${String(i).padStart(2, '0')}`)))
      const snapshot = await store.snapshot!()
      const { predicate, ranked } = resolveQuery(
        parseQuery('', () => false),
        { fields: allFields, nowMs: FAKE_EPOCH_MS },
      )
      const seen: string[] = []
      for (let after: readonly (string | number | null)[] | undefined; ;) {
        const page = await snapshot.search({
          ...{ predicate, ranked, sort: [{ path: 'name', descending: true }], limit: 4, facets: [] },
          ...(after === undefined ? {} : { after }),
        })
        assert.equal(page.total, 25)
        seen.push(...page.hits.map(({ name }) => name))
        await store.write([remove(`p${String(seen.length).padStart(2, '0')}`), upsert(`x${seen.length}`)])
        if (!page.more) break
        after = page.hits.at(-1)?.cursor
      }
      assert.deepEqual(
        seen,
        Array.from({ length: 25 }, (_, i) => `p${String(24 - i).padStart(2, '0')}`),
      )
      assert.ok((await heldStates()) > 0)
      await snapshot.close()
      await eventually(async () => (await heldStates()) === 0, 'the state is given back')
      await assert.rejects(snapshot.search({ predicate, ranked, sort: [], limit: 1, facets: [] }), { code: 'expired' })
    })

    test('a snapshot of an engine without an index has nothing in it', async () => {
      const snapshot = await store.snapshot!()
      await store.write([upsert('late')])
      const { predicate, ranked } = resolveQuery(
        parseQuery('', () => false),
        { fields: allFields, nowMs: FAKE_EPOCH_MS },
      )
      const facets = [{ path: 'kind', limit: 5 }]
      const { total, hits, more } = await snapshot.search({ predicate, ranked, sort: [], limit: 5, facets })
      assert.deepEqual([total, hits, more], [0, [], false])
      await snapshot.close()
    })

    test('too many snapshots at once are refused, and those that are held end with the store', async () => {
      await store.write([upsert('a')])
      const held = await Promise.all(Array.from({ length: 16 }, () => store.snapshot!()))
      await assert.rejects(store.snapshot!(), { code: 'tooManyRequests' })
      await held[0]?.close()
      await store.snapshot!()
      await store.close()
      await eventually(async () => (await heldStates()) === 0, 'all are given back')
    })

    test('12,345 results paged to the end while objects come and go: those that stay come exactly once', async () => {
      const OBJECTS = 12_345
      const STEP = 997
      const name = (i: number): string => `p-${String(i).padStart(5, '0')}`
      const all = Array.from({ length: OBJECTS }, (_, i) => upsert(name(i)))
      for (let i = 0; i < OBJECTS; i += 2_000) await store.write(all.slice(i, i + 2_000))
      const { predicate, ranked } = resolveQuery(
        parseQuery('', () => false),
        { fields: allFields, nowMs: FAKE_EPOCH_MS },
      )
      const seen = new Map<string, number>()
      let pages = 0
      for (let after: readonly (string | number | null)[] | undefined; ; pages++) {
        const page = await store.search({
          ...{ predicate, ranked, sort: [{ path: 'name', descending: true }], limit: 1_000, facets: [] },
          ...(after === undefined ? {} : { after }),
        })
        for (const hit of page.hits) seen.set(hit.name, (seen.get(hit.name) ?? 0) + 1)
        const gone = all.flatMap((_, i) => (i % STEP === pages ? [remove(name(i))] : []))
        await store.write([...gone, upsert(name(90_000 + pages)), upsert(`a-${pages}`)])
        if (!page.more) break
        after = page.hits.at(-1)?.cursor
      }
      assert.ok(pages >= 12)
      assert.ok([...seen.values()].every((count) => count === 1))
      const stayed = all.flatMap((_, i) => (i % STEP > pages ? [name(i)] : []))
      assert.deepEqual(
        stayed.filter((each) => !seen.has(each)),
        [],
      )
    })

    test('facets and counts of more values than an engine tells at once are exact', async () => {
      const objects = Array.from({ length: 10_500 }, (_, i) => upsert(`p${i}`, { labels: { n: `v${i % 10_400}` } }))
      for (let i = 0; i < objects.length; i += 2_000) await store.write(objects.slice(i, i + 2_000))
      const { facets } = await ask(store, '', { facets: ['name', 'label.n'] })
      assert.deepEqual(
        facets.map(({ distinct }) => distinct),
        [10_500, 10_400],
      )
      assert.deepEqual(facets[1]?.values.slice(0, 2), [
        { value: 'v0', count: 2 },
        { value: 'v1', count: 2 },
      ])
    })
  })

  describe('faults', () => {
    test('nobody there: unreachable; another engine there: unsupported', async () => {
      const [port] = await freePorts(1)
      const options = engineOptions(engine)
      const open = options.kind === 'opensearch' ? openOpenSearchStore : openElasticsearchStore
      const other = options.kind === 'opensearch' ? openElasticsearchStore : openOpenSearchStore
      const nobody = { ...options, addresses: [`http://127.0.0.1:${String(port)}`] }
      await assert.rejects(open(nobody), (error) => isBackendStoreError(error, 'unreachable'))
      await assert.rejects(other(options), (error) => isBackendStoreError(error, 'unsupported'))
    })

    test('an index of karmada-search under the name of our alias is left alone, and said', async () => {
      await engine.client.ok('/kubernetes-widget', { method: 'PUT', body: {} })
      try {
        await assert.rejects(
          store.write([upsert('w', { shard: WIDGETS })]),
          /kubernetes-widget is an index, not an alias/,
        )
        assert.equal((await store.write([upsert('p')])).written, 1)
      } finally {
        await engine.client.ok('/kubernetes-widget', { method: 'DELETE' })
      }
      assert.equal((await store.write([upsert('w', { shard: WIDGETS })])).written, 1)
    })
  })
}

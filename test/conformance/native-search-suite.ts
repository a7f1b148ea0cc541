/**
 * Searches in an engine's own language: what a caller may not see takes no part in them. `nativeSearchSuite(open)` from the
 * test file of a store in an engine; `open` gives an empty store.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { BackendStore } from '../../src/backendstore/backend-store.ts'
import { isStatusError } from '../../src/kube/status-error.ts'
import type { NativeAnswer } from '../../src/query/native-search.ts'
import type { VisibleDocuments } from '../../src/query/search-request.ts'
import { readNativeSearch } from '../../src/search/passthrough/read-search.ts'
import { discoverBodies, nativeBodyArbitrary } from '../support/native-bodies.ts'
import { objectsArbitrary } from '../support/query-objects.ts'
import { upsert, type OpenedStore } from './backend-store-suite.ts'
import { choice, isVisible, visibleOf } from './visible-documents-suite.ts'
import { dashboardRequests } from './dashboard-requests.ts'
import { fill } from './fill.ts'

const WORLDS = 8
const BODIES_PER_WORLD = 12

export function nativeSearchSuite(open: () => Promise<OpenedStore>): void {
  let opened: OpenedStore
  let store: BackendStore
  before(async () => {
    opened = await open()
    store = opened.store
  })
  after(() => opened.dispose())

  /** What depends on nothing but the documents; or what the engine refused. */
  const search = async (body: object, visible?: VisibleDocuments): Promise<object> => {
    try {
      const answer = await native(store).search({ ...readNativeSearch(body), visible })
      const { took: _, ...rest } = answer
      return rest
    } catch (error) {
      if (!isStatusError(error, 'badRequest')) throw error
      return { refused: true }
    }
  }

  test('a search with rights is that of a store that has nothing else', async () => {
    let compared = 0
    const property = fc.asyncProperty(
      objectsArbitrary,
      fc.array(choice, { minLength: 1, maxLength: 9 }),
      fc.array(nativeBodyArbitrary, { minLength: BODIES_PER_WORLD, maxLength: BODIES_PER_WORLD }),
      async (objects, choices, bodies) => {
        const visible = visibleOf(objects, choices)
        await fill(store, objects)
        const answers = []
        for (const body of bodies) answers.push(await search(body, visible))
        await fill(
          store,
          objects.filter((object) => isVisible(object, visible)),
        )
        for (const [i, body] of bodies.entries()) {
          assert.deepEqual(answers[i], await search(body), JSON.stringify({ body, visible: [...visible.clusters] }))
          if (!('refused' in answers[i]!)) compared += 1
        }
      },
    )
    await fc.assert(property, { numRuns: WORLDS })
    assert.ok(compared > (WORLDS * BODIES_PER_WORLD) / 2, `${compared} answers compared`)
  })

  test('finds documents of the kinds named, in the order asked for, page by page', async () => {
    await fill(store, [])
    const names = ['d', 'a', 'c', 'b']
    await store.write([
      ...names.map((name) => upsert(name)),
      upsert('a', { shard: { kind: 'Node', resource: 'nodes', cluster: 'member1', group: '', version: 'v1' } }),
    ])
    const sorted = { sort: [{ 'metadata.name.keyword': 'desc' }], size: 3 }
    const pages: NativeAnswer[] = []
    const request = { ...readNativeSearch(sorted), kinds: ['pod'] }
    pages.push(await native(store).search(request))
    const searchAfter = pages[0]?.hits.at(-1)?.sort
    assert.ok(searchAfter !== undefined)
    pages.push(await native(store).search({ ...request, searchAfter }))
    const found = pages.flatMap(({ hits }) => hits)
    assert.deepEqual(found.map(nameOf), ['d', 'c', 'b', 'a'])
    assert.deepEqual(new Set(found.map(({ _index }) => _index)), new Set(['kubernetes-pod']))
    assert.deepEqual(pages[0]?.total, { value: 4, relation: 'eq' })
    for (const { _source } of found) assert.ok(_source !== undefined && !('fleetsearch' in _source))
    const all = await native(store).search(readNativeSearch({}))
    assert.deepEqual(new Set(all.hits.map(({ _index }) => _index)), new Set(['kubernetes-pod', 'kubernetes-node']))
    const none = await native(store).search({ ...readNativeSearch({}), kinds: ['unknown'] })
    assert.deepEqual([none.hits, none.total?.value], [[], 0])
  })

  test('answers what Discover of the dashboards asks: fields, versions, marks, a histogram', async () => {
    await fill(store, [])
    await store.write(['web-1', 'db-0'].map((name) => upsert(name, { created: '2026-11-29T00:00:00Z' })))
    const { dashboards, kibana } = discoverBodies({ match_phrase: { 'metadata.name': 'web-1' } })
    const classic = await native(store).search(readNativeSearch(dashboards))
    const [hit] = classic.hits
    assert.equal(classic.hits.length, 1)
    assert.ok(hit?._source !== undefined)
    assert.deepEqual(hit.fields, { 'metadata.creationTimestamp': ['2026-11-29T00:00:00.000Z'] })
    const tag = 'opensearch-dashboards-highlighted-field'
    assert.match(JSON.stringify(hit.highlight), new RegExp(`"metadata.name":\\["@${tag}@web`))
    assert.match(JSON.stringify(classic.aggregations), /"doc_count":1/)
    const modern = await native(store).search(readNativeSearch(kibana))
    assert.equal(modern.hits.length, 1)
    const [shown] = modern.hits
    assert.equal(shown?._source, undefined)
    const fields = shown?.fields as Record<string, unknown[]>
    assert.deepEqual(fields['metadata.name'], ['web-1'])
    assert.deepEqual(fields['metadata.creationTimestamp'], ['2026-11-29T00:00:00.000Z'])
    assert.ok(Object.keys(fields).every((name) => !name.startsWith('fleetsearch')))
    assert.equal(shown?.sort.length, 2)
    const later = { ...kibana, search_after: shown?.sort }
    assert.deepEqual((await native(store).search(readNativeSearch(later))).hits, [])
  })

  test('shows documents of buckets under the names of indices that everybody knows', async () => {
    await fill(store, [])
    await store.write(['a', 'b', 'c'].map((name) => upsert(name)))
    const top = { top_hits: { size: 2, sort: [{ 'metadata.name.keyword': 'desc' }], _source: ['metadata.name'] } }
    const body = { size: 0, aggs: { kinds: { terms: { field: 'kind.keyword' }, aggs: { _index: top } } } }
    const { aggregations } = await native(store).search(readNativeSearch(body))
    const { buckets } = aggregations?.['kinds'] as { buckets: { _index: { hits: { hits: Hit[] } } }[] }
    const hits = buckets[0]?._index.hits.hits ?? []
    assert.deepEqual(hits.map(nameOf), ['c', 'b'])
    for (const { _index, _score } of hits) assert.deepEqual([_index, _score], ['kubernetes-pod', null])
  })

  test('what an engine does not understand is told without anything of documents', async () => {
    await fill(store, [])
    await store.write([upsert('secret-name')])
    const range = (gte: string): object => ({ range: { 'metadata.creationTimestamp': { gte } } })
    await assert.rejects(native(store).search(readNativeSearch({ query: range('no-time-at-all') })), (error) => {
      assert.ok(isStatusError(error, 'badRequest'), String(error))
      assert.match(error.message, /no-time-at-all/)
      assert.doesNotMatch(error.message, /secret-name|fleetsearch/)
      return true
    })
  })

  test('says which engine it is', async () => {
    assert.match((await native(store).version()).number, /^\d+\.\d+\.\d+/)
  })

  dashboardRequests(() => store)
}

interface Hit {
  readonly _index: string
  readonly _score: unknown
  readonly _source?: object
}

function native(store: BackendStore): NonNullable<BackendStore['native']> {
  assert.ok(store.native !== undefined)
  return store.native
}

function nameOf({ _source }: { readonly _source?: object }): unknown {
  return (_source as { metadata: { name: string } }).metadata.name
}

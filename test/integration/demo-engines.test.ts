/** `demo` that searches in a real engine in place of the embedded store. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client as ElasticsearchClient } from '@elastic/elasticsearch'
import { Client as OpenSearchClient } from '@opensearch-project/opensearch'
import { discoverBodies } from '../support/native-bodies.ts'
import { QUERY, startLocal } from '../support/local-process.ts'
import { startSearchEngine, type SearchEngineName } from '../support/real-parts/index.ts'

const ENGINES: readonly SearchEngineName[] = ['opensearch-2-security', 'elasticsearch-9']

for (const name of ENGINES) {
  test(`demo answers queries from ${name}`, async (t) => {
    const engine = await startSearchEngine(name)
    t.after(() => engine.stop())
    const kind = name.startsWith('opensearch') ? 'opensearch' : 'elasticsearch'
    const credentials = { ...engine.admin, ...(engine.caPem === undefined ? {} : { 'ca.crt': engine.caPem }) }
    const folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-demo-engine-'))
    t.after(() => rm(folder, { recursive: true }))
    const file = path.join(folder, 'credentials.yaml')
    await writeFile(file, JSON.stringify(credentials), { mode: 0o600 }) // JSON is YAML
    const flags = [`--${kind}-url=${engine.url}`, `--search-credentials-file=${file}`]
    const demo = await startLocal('demo', { flags })
    t.after(() => demo.stop())
    const deadline = performance.now() + 60_000
    let answer = await demo.request(`${QUERY}?q=kind:Deployment&limit=1`)
    while (answer.status === 200 && answer.json().total === 0 && performance.now() < deadline) {
      await delay(200)
      answer = await demo.request(`${QUERY}?q=kind:Deployment&limit=1`)
    }
    assert.equal(answer.status, 200, demo.output())
    assert.ok(answer.json().total > 0)
    const { count } = await engine.client.ok('/kubernetes-deployment/_count')
    assert.ok(count > 0)
    await searchWithItsClient(kind, `${demo.url}/apis/search.karmada.io/v1alpha1/search/${kind}`)
    assert.doesNotMatch(demo.output(), /"level":50|search store failed/)
  })
}

interface Found {
  readonly hits: { readonly total: { readonly value: number }; readonly hits: readonly FoundHit[] }
  readonly aggregations: { readonly kinds: { readonly buckets: readonly { readonly key: string }[] } }
}

interface FoundHit {
  readonly _id: string
  readonly _index: string
  readonly _source: { readonly kind: string; readonly spec: string; readonly metadata: { readonly name: string } }
}

/** The engine's own client takes the passthrough for the engine. */
async function searchWithItsClient(kind: 'opensearch' | 'elasticsearch', node: string): Promise<void> {
  const body = {
    size: 2,
    query: { bool: { must: [{ term: { 'kind.keyword': 'Deployment' } }], must_not: [{ term: { kind: 'pod' } }] } },
    sort: [{ 'metadata.name.keyword': 'desc' as const }],
    aggs: { kinds: { terms: { field: 'kind.keyword' } } },
  }
  const index = 'kubernetes-deployment'
  for (const url of [node, `${node}/proxy`]) {
    const client = kind === 'opensearch' ? openSearch(url) : elasticsearch(url)
    const found = await client.search({ index, body })
    assert.ok(found.hits.total.value > 2)
    assert.deepEqual(
      found.aggregations.kinds.buckets.map(({ key }) => key),
      ['Deployment'],
    )
    const [first, second] = found.hits.hits
    assert.ok(first !== undefined && second !== undefined)
    assert.ok(first._source.metadata.name >= second._source.metadata.name)
    assert.equal(typeof JSON.parse(first._source.spec), 'object')
    assert.equal(first._index, index)
    assert.deepEqual((await client.get({ index, id: first._id }))._source, first._source)
    const { docs } = await client.mget({ index, body: { ids: [second._id, 'none'] } })
    assert.deepEqual(
      docs.map((doc) => [doc.found, doc._source]),
      [
        [true, second._source],
        [false, undefined],
      ],
    )
    // The demo writes on meanwhile.
    const [listed, ...others] = await client.indices({ index, format: 'json' })
    assert.deepEqual([listed?.index, others], [index, []])
    assert.ok(Number(listed?.['docs.count']) >= found.hits.total.value)
    const discover = discoverBodies({ term: { 'kind.keyword': 'Deployment' } })
    const shown = await client.search({ index, body: kind === 'opensearch' ? discover.dashboards : discover.kibana })
    assert.ok(shown.hits.hits.length >= Math.min(500, found.hits.total.value))
    await assert.rejects(client.search({ index, body: { suggest: {} } }), /suggest/)
    await client.close()
  }
}

interface ListedIndex {
  readonly index?: string
  readonly 'docs.count'?: string | null
}

interface Documents {
  readonly docs: readonly { readonly found: boolean; readonly _source?: object }[]
}

interface SmallClient {
  search(asked: { readonly index: string; readonly body: object }): Promise<Found>
  get(asked: { readonly index: string; readonly id: string }): Promise<FoundHit>
  mget(asked: { readonly index: string; readonly body: { readonly ids: string[] } }): Promise<Documents>
  indices(asked: { readonly index: string; readonly format: 'json' }): Promise<readonly ListedIndex[]>
  close(): Promise<void>
}

function openSearch(node: string): SmallClient {
  const client = new OpenSearchClient({ node, maxRetries: 0 })
  return {
    search: async (asked) => (await client.search(asked)).body as unknown as Found,
    get: async (asked) => (await client.get(asked)).body as unknown as FoundHit,
    mget: async (asked) => (await client.mget(asked)).body as unknown as Documents,
    indices: async (asked) => (await client.cat.indices(asked)).body as readonly ListedIndex[],
    close: () => client.close(),
  }
}

function elasticsearch(node: string): SmallClient {
  const client = new ElasticsearchClient({ node, maxRetries: 0 })
  return {
    search: async ({ index, body }) => (await client.search({ index, ...body })) as unknown as Found,
    get: async (asked) => (await client.get(asked)) as unknown as FoundHit,
    mget: async ({ index, body }) => (await client.mget({ index, ...body })) as unknown as Documents,
    indices: (asked) => client.cat.indices(asked),
    close: () => client.close(),
  }
}

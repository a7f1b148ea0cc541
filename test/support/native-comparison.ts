/** What the passthrough tells a caller, held against what the members' own lists show him. */
import assert from 'node:assert/strict'
import type { AskOurs } from './search-comparison.ts'
import { BASE, type Caller, type Kind } from './rights-world.ts'

interface Bucket {
  readonly key: string
  readonly doc_count: number
}

interface Answer {
  readonly hits: {
    readonly total: { readonly value: number }
    readonly hits: readonly Hit[]
  }
  readonly aggregations: Readonly<Record<string, Aggregation>>
}

interface Hit {
  readonly _id: string
  readonly _source: Source
  readonly highlight?: object
}

interface Aggregation {
  readonly buckets?: readonly Bucket[]
  readonly value?: number
  readonly hits?: { readonly hits: readonly Hit[] }
}

interface Source {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations: Readonly<Record<string, string>>
  }
}

const ADMIN = { name: 'admin', groups: ['system:masters'] }
const CLUSTER = 'resource.karmada.io/cached-from-cluster'

/** `engine`: which of the two answers. `expected`: `cluster/namespace/name` of all that the caller may see, sorted. */
export async function compareNative(
  ours: AskOurs,
  engine: string,
  { caller, kind }: { readonly caller: Caller; readonly kind: Kind },
  expected: readonly string[],
): Promise<void> {
  const root = `${BASE}/search/${engine}`
  const index = `${root}/kubernetes-${kind.kind.toLowerCase()}`
  const ask = async <Body>(as: Caller, path: string, body?: object): Promise<Body> => {
    const source =
      body === undefined
        ? ''
        : `?source_content_type=application/json&source=${encodeURIComponent(JSON.stringify(body))}`
    const answer = await ours(as, path + source)
    assert.equal(answer.status, 200, answer.text)
    return answer.json() as Body
  }
  const found = await ask<Answer>(caller, `${index}/_search`, {
    ...SEARCH,
    query: { term: { 'kind.keyword': kind.kind } },
  })
  assert.deepEqual(found.hits.hits.map(({ _source }) => keyOf(_source)).sort(), expected)
  assert.equal(found.hits.total.value, expected.length)
  assert.equal(found.aggregations['names']?.value, new Set(expected.map((key) => partOf(key, 2))).size)
  for (const [name, at] of [
    ['space', 1],
    ['name', 2],
  ] as const) {
    assert.deepEqual(bucketsOf(found, name), countsOf(expected.map((key) => partOf(key, at))))
  }
  const marked = JSON.stringify(found.hits.hits.map(({ highlight }) => highlight ?? {}))
  assert.doesNotMatch(marked, /fleetsearch/)
  const tops = found.aggregations['top']?.hits?.hits ?? []
  assert.deepEqual(
    tops.map(({ _source }) => keyOf(_source)).filter((key) => !expected.includes(key)),
    [],
  )
  assert.equal(tops.length, Math.min(TOP, expected.length))
  assert.equal((await ask<{ count: number }>(caller, `${index}/_count`)).count, expected.length)
  const counted = await ours(caller, `${root}/_cat/indices/kubernetes-${kind.kind.toLowerCase()}?format=json`)
  const rows = counted.json() as { 'docs.count': string }[]
  assert.deepEqual(
    rows.map((row) => row['docs.count']),
    expected.length === 0 ? [] : [String(expected.length)],
  )
  const all = await ask<Answer>(ADMIN, `${index}/_search`, SEARCH)
  const some = all.hits.hits.slice(0, DOCUMENTS)
  const got = await ask<{ docs: { found: boolean }[] }>(caller, `${index}/_mget`, { ids: some.map(({ _id }) => _id) })
  assert.deepEqual(
    got.docs.map((doc) => doc.found),
    some.map(({ _source }) => expected.includes(keyOf(_source))),
  )
  for (const { _id, _source } of some) {
    const { status, text } = await ours(caller, `${index}/_doc/${encodeURIComponent(_id)}`)
    assert.equal(status, expected.includes(keyOf(_source)) ? 200 : 404, text)
  }
}

const TOP = 10

const SEARCH = {
  size: 1_000,
  track_total_hits: true,
  sort: [{ 'metadata.name.keyword': 'desc' }],
  aggs: {
    name: { terms: { field: 'metadata.name.keyword', size: 1_000 } },
    space: { terms: { field: 'metadata.namespace.keyword', size: 1_000 } },
    names: { cardinality: { field: 'metadata.name.keyword' } },
    top: { top_hits: { size: TOP } },
  },
  highlight: { fields: { '*': {} } },
}

const DOCUMENTS = 5

function keyOf({ metadata: { name, namespace = '', annotations } }: Source): string {
  return `${annotations[CLUSTER] ?? '?'}/${namespace}/${name}`
}

function partOf(key: string, at: number): string {
  return key.split('/')[at] ?? ''
}

function bucketsOf({ aggregations }: Answer, name: string): Record<string, number> {
  const buckets = aggregations[name]?.buckets ?? []
  return Object.fromEntries(buckets.filter(({ key }) => key !== '').map(({ key, doc_count }) => [key, doc_count]))
}

function countsOf(values: readonly string[]): Record<string, number> {
  const groups = Map.groupBy(
    values.filter((value) => value !== ''),
    (value) => value,
  )
  return Object.fromEntries([...groups].map(([value, each]) => [value, each.length]))
}

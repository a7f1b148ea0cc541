/** How many of the documents found have each value of a path. */
import type { FacetRequest, FacetResult } from '../../query/search-request.ts'
import { NUMBER, numberOfKey, TIME, timeOfKey } from '../../query/sortable.ts'
import { compareUtf8 } from '../../util/bytes.ts'
import { countRows } from './counts.ts'
import { countedTerms } from './dimensions.ts'
import { and, anyOf, type Query } from './query.ts'
import type { Buckets, EngineAnswer, Searcher } from './searcher.ts'

/** Told in one answer; a path with more values is counted by itself. */
const MAX_VALUES = 10_000

/** More than anybody counts: 200,000 distinct values take about 20 MB. */
const MAX_COUNTED = 2_000_000

interface Counted {
  readonly key: string
  readonly count: number
}

const termsOf = (path: string) => countedTerms({ type: 'value', path })

/** To be part of the search; every shard tells all of its values, or `facetResults` asks again. */
export function facetAggregations(facets: readonly FacetRequest[]): Record<string, object> {
  const size = MAX_VALUES + 1
  return Object.fromEntries(
    facets.map(({ path }, i) => {
      const { field, include } = termsOf(path)
      return [`facet${i}`, { terms: { field, include, size, shard_size: size, order: { _key: 'asc' } } }]
    }),
  )
}

export function facetResults(
  search: Searcher,
  query: Query,
  facets: readonly FacetRequest[],
  { aggregations = {} }: EngineAnswer,
): Promise<FacetResult[]> {
  return Promise.all(
    facets.map(async ({ path, limit }, i) => {
      const found = (aggregations[`facet${i}`] as Buckets | undefined) ?? { buckets: [] }
      const complete = found.buckets.length <= MAX_VALUES && (found.sum_other_doc_count ?? 0) === 0
      const counted = complete ? countedBuckets(path, found) : await countedApart(search, query, path)
      const values = await shownValues(search, query, path, counted)
      values.sort((a, b) => b.count - a.count || compareUtf8(a.value, b.value))
      return { path, values: values.slice(0, limit), distinct: values.length }
    }),
  )
}

function countedBuckets(path: string, { buckets }: Buckets): Counted[] {
  const { keyOf } = termsOf(path)
  return buckets.map(({ key, doc_count }) => ({ key: keyOf(key) ?? '', count: doc_count }))
}

async function countedApart(search: Searcher, query: Query, path: string): Promise<Counted[]> {
  const { rows } = await countRows(search, query, { dimensions: [{ type: 'value', path }], maxRows: MAX_COUNTED })
  return rows.flatMap(({ keys: [key], documents }) => (typeof key === 'string' ? [{ key, count: documents }] : []))
}

/** A value that is a number here and a text there is one value; a document may have both. */
async function shownValues(
  search: Searcher,
  query: Query,
  path: string,
  counted: readonly Counted[],
): Promise<{ value: string; count: number }[]> {
  const values = new Map<string, Counted[]>()
  for (const each of counted) {
    const value = textOf(each.key)
    values.set(value, [...(values.get(value) ?? []), each])
  }
  const found: { value: string; count: number }[] = []
  for (const [value, keys] of values) {
    const [first] = keys
    const count = keys.length === 1 ? (first?.count ?? 0) : await countDocuments(search, query, path, keys)
    found.push({ value, count })
  }
  return found
}

function textOf(key: string): string {
  const text = key.slice(1)
  if (key.startsWith(NUMBER)) return numberOfKey(text)
  return key.startsWith(TIME) ? timeOfKey(text) : text
}

async function countDocuments(search: Searcher, query: Query, path: string, keys: readonly Counted[]): Promise<number> {
  const { field, termOf } = termsOf(path)
  const terms = keys.map(({ key }) => termOf(key))
  const { hits } = await search({ query: and([query, anyOf(field, terms)]), size: 0, track_total_hits: true })
  return hits.total?.value ?? 0
}

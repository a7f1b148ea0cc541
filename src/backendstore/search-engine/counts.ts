/**
 * How many of the documents found have each combination of keys (`CountRequest`): nested aggregations, exact because every
 * shard tells all of its terms; beyond what engines allow of those, by running through the documents.
 */
import type { CountRequest, CountResult, CountRow } from '../../query/search-request.ts'
import { countedTerms, type CountedTerms } from './dimensions.ts'
import { isEngineError } from './engine-errors.ts'
import type { Query } from './query.ts'
import { FIELD, MAX_WINDOW } from './schema.ts'
import type { Bucket, Buckets, EngineHit, Searcher } from './searcher.ts'

/** Below the default of `search.max_buckets`, 65,535. */
export const MAX_BUCKETS = 60_000

export async function countRows(
  search: Searcher,
  query: Query,
  { dimensions, maxRows }: Pick<CountRequest, 'dimensions' | 'maxRows'>,
): Promise<CountResult> {
  const terms = dimensions.map(countedTerms)
  if (terms.some(({ joined }) => joined)) return runThrough(search, query, terms, maxRows)
  const rows = await aggregated(search, query, terms, Math.min(maxRows + 1, MAX_BUCKETS))
  if (rows !== undefined) return rows.length > maxRows ? INCOMPLETE : { rows, complete: true }
  return maxRows < MAX_BUCKETS ? INCOMPLETE : runThrough(search, query, terms, maxRows)
}

const INCOMPLETE: CountResult = { rows: [], complete: false }

/** Undefined where there are more than `size` of them. */
async function aggregated(
  search: Searcher,
  query: Query,
  terms: readonly CountedTerms[],
  size: number,
): Promise<CountRow[] | undefined> {
  const body = { query, size: 0, track_total_hits: true, ...nested(terms, size) }
  try {
    const { hits, aggregations = {} } = await search(body)
    const rows: CountRow[] = []
    const total = { ...aggregations, key: '', doc_count: hits.total?.value ?? 0 }
    return collect(total, terms, [], rows) ? rows : undefined
  } catch (error) {
    if (isEngineError(error, ...TOO_MANY)) return undefined
    throw error
  }
}

/** By name, as both engines and their versions say it. */
const TOO_MANY = ['too_many_buckets_exception', 'too_many_buckets']

function nested([first, ...rest]: readonly CountedTerms[], size: number): { aggs?: Record<string, object> } {
  if (first === undefined) return {}
  const { field, include, missing } = first
  const inner = nested(rest, size)
  return {
    aggs: {
      present: { terms: { field, include, size, shard_size: size, order: { _key: 'asc' } }, ...inner },
      missing: { filter: missing, ...inner },
    },
  }
}

/** False where buckets were left out. */
function collect(
  bucket: Bucket,
  [first, ...rest]: readonly CountedTerms[],
  keys: readonly (string | null)[],
  rows: CountRow[],
): boolean {
  if (bucket.doc_count === 0) return true
  if (first === undefined) {
    rows.push({ keys, documents: bucket.doc_count })
    return true
  }
  const present = bucket['present'] as Buckets | undefined
  const missing = bucket['missing'] as Bucket | undefined
  if ((present?.sum_other_doc_count ?? 0) > 0) return false
  if (missing !== undefined && !collect(missing, rest, [...keys, null], rows)) return false
  return (present?.buckets ?? []).every((each) => collect(each, rest, [...keys, first.keyOf(each.key) ?? null], rows))
}

async function runThrough(
  search: Searcher,
  query: Query,
  terms: readonly CountedTerms[],
  maxRows: number,
): Promise<CountResult> {
  const rows = new Map<string, { keys: readonly (string | null)[]; documents: number }>()
  for await (const hits of documents(search, query, [...new Set(terms.map(({ field }) => field))])) {
    for (const hit of hits) {
      for (const keys of combinations(terms.map((each) => keysOf(hit, each)))) {
        const name = JSON.stringify(keys)
        const row = rows.get(name)
        if (row === undefined) rows.set(name, { keys, documents: 1 })
        else row.documents++
      }
    }
    if (rows.size > maxRows) return INCOMPLETE
  }
  return { rows: [...rows.values()], complete: true }
}

function keysOf({ fields }: EngineHit, { field, keyOf }: CountedTerms): readonly (string | null)[] {
  const keys = new Set((fields?.[field] ?? []).map((term) => keyOf(String(term))))
  keys.delete(undefined)
  return keys.size === 0 ? [null] : ([...keys] as string[])
}

function combinations(keys: readonly (readonly (string | null)[])[]): (string | null)[][] {
  return keys.reduce<(string | null)[][]>(
    (found, some) => found.flatMap((row) => some.map((key) => [...row, key])),
    [[]],
  )
}

/** All documents of a query in pages, with some of their fields. */
export async function* documents(
  search: Searcher,
  query: Query,
  fields: readonly string[],
): AsyncGenerator<readonly EngineHit[]> {
  let after: EngineHit['sort']
  do {
    const page = {
      query,
      size: MAX_WINDOW,
      track_total_hits: false,
      docvalue_fields: fields,
      sort: [{ [FIELD.tie]: 'asc' }],
    }
    const { hits } = await search(after === undefined ? page : { ...page, search_after: after.slice(0, 1) })
    if (hits.hits.length > 0) yield hits.hits
    after = hits.hits.length < MAX_WINDOW ? undefined : hits.hits.at(-1)?.sort
  } while (after !== undefined)
}

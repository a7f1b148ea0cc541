/** Answers searches in the engine's own language, over this installation's indices and what their caller may see. */
import type { NativeAnswer, NativeHit, NativeRequest } from '../../query/native-search.ts'
import type { EngineClient } from './engine-client.ts'
import type { IndexNames } from './index-names.ts'
import { toNativeError } from './engine-errors.ts'
import { FIELD } from './schema.ts'
import { searchIndices } from './searcher.ts'
import { visibleQuery } from './visible.ts'

interface Answer {
  readonly took: number
  readonly timed_out: boolean
  readonly hits: { readonly total?: NonNullable<NativeAnswer['total']>; readonly hits: readonly NativeHit[] }
  readonly aggregations?: Readonly<Record<string, unknown>>
}

export async function searchNatively(
  client: EngineClient,
  names: IndexNames,
  request: NativeRequest,
): Promise<NativeAnswer> {
  const { kinds } = request
  const indices = kinds === undefined ? names.all : kinds.map((kind) => names.alias(kind)).join(',')
  const answer = await searchIndices<Answer>(client, indices, bodyOf(request)).catch((error: unknown) => {
    throw toNativeError(error, request)
  })
  const { took, timed_out, hits, aggregations } = answer
  return {
    took,
    timed_out,
    ...(hits.total === undefined ? {} : { total: hits.total }),
    hits: hits.hits.map(({ _index, ...hit }) => ({ ...hit, _index: names.shared(_index) })),
    ...(aggregations === undefined ? {} : { aggregations: shownAggregations(aggregations, names) }),
  }
}

/**
 * Hits of buckets (`top_hits`) under the names of karmada-search's indices, and no empty `meta`: nobody sends any, and
 * OpenSearch 2 has one or not by what is in an index, whoever may see it. No aggregation's own value is empty.
 */
function shownAggregations(
  aggregations: Readonly<Record<string, unknown>>,
  names: IndexNames,
): Record<string, unknown> {
  const shown = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shown)
    if (typeof value !== 'object' || value === null) return value
    if (isHit(value)) return { ...value, _index: names.shared(value._index), _score: null }
    const members = Object.entries(value).filter(([name, child]) => !(name === 'meta' && isEmpty(child)))
    return Object.fromEntries(members.map(([name, child]) => [name, shown(child)]))
  }
  return shown(aggregations) as Record<string, unknown>
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** Whatever aggregations are called, their values are objects. */
function isHit(value: object): value is { readonly _index: string } {
  return '_index' in value && typeof value._index === 'string'
}

/** With what breaks ties. */
function ordered(aggregations: Readonly<Record<string, object>>): Record<string, object> {
  const entries = Object.entries(aggregations).map(([name, aggregation]): [string, object] => {
    const { top_hits: top, aggs } = aggregation as { top_hits?: { sort?: object[] }; aggs?: Record<string, object> }
    return [
      name,
      {
        ...aggregation,
        ...(top === undefined ? {} : { top_hits: { ...top, sort: [...(top.sort ?? []), TIE] } }),
        ...(aggs === undefined ? {} : { aggs: ordered(aggs) }),
      },
    ]
  })
  return Object.fromEntries(entries)
}

const TIE = { [FIELD.tie]: { order: 'asc' } }

/** The caller's query is a filter beside his rights: nothing is scored, so no score tells of what he does not see. */
function bodyOf(request: NativeRequest): object {
  const { query, visible, size, from, sort, searchAfter, aggregations, source, trackTotalHits } = request
  const { fields, docvalueFields, highlight } = request
  return {
    query: { bool: { filter: visible === undefined ? [query] : [query, visibleQuery(visible)] } },
    size,
    ...(searchAfter === undefined ? { from } : { search_after: searchAfter }),
    sort: [...sort, TIE],
    track_total_hits: trackTotalHits,
    ...(aggregations === undefined ? {} : { aggs: ordered(aggregations) }),
    ...(source === undefined ? {} : { _source: source }),
    ...(fields === undefined ? {} : { fields }),
    ...(docvalueFields === undefined ? {} : { docvalue_fields: docvalueFields }),
    // Of rights nothing is marked.
    ...(highlight === undefined
      ? {}
      : { highlight: { ...highlight, highlight_query: query, require_field_match: true } }),
  }
}

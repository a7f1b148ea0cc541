/** Answers searches in the engine's own language, over this installation's indices and what their caller may see. */
import type { NativeAnswer, NativeHit, NativeRequest } from '../../query/native-search.ts'
import type { EngineClient } from './engine-client.ts'
import type { IndexNames } from './index-names.ts'
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
  const { took, timed_out, hits, aggregations } = await searchIndices<Answer>(client, indices, bodyOf(request))
  return {
    took,
    timed_out,
    ...(hits.total === undefined ? {} : { total: hits.total }),
    hits: hits.hits.map(({ _index, ...hit }) => ({ ...hit, _index: names.shared(_index) })),
    ...(aggregations === undefined ? {} : { aggregations }),
  }
}

/** The caller's query is a filter beside his rights: nothing is scored, so no score tells of what he does not see. */
function bodyOf(request: NativeRequest): object {
  const { query, visible, size, from, sort, searchAfter, aggregations, source, trackTotalHits } = request
  return {
    query: { bool: { filter: visible === undefined ? [query] : [query, visibleQuery(visible)] } },
    size,
    ...(searchAfter === undefined ? { from } : { search_after: searchAfter }),
    sort: [...sort, { [FIELD.tie]: { order: 'asc' } }],
    track_total_hits: trackTotalHits,
    ...(aggregations === undefined ? {} : { aggs: aggregations }),
    ...(source === undefined ? {} : { _source: source }),
  }
}

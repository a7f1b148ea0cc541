/** Answers searches, of the indices as they are or of one state of them. */
import { parseApiVersion } from '../../kube/group-version.ts'
import {
  RANK,
  type CountRequest,
  type CountResult,
  type SearchHit,
  type SearchRequest,
  type SearchResult,
  type VocabularyRequest,
  type VocabularyResult,
} from '../../query/search-request.ts'
import { countRows } from './counts.ts'
import { facetAggregations, facetResults } from './facets.ts'
import { compileFilter, compileText, exactName, TEXT_TIERS } from './filter.ts'
import { splitTie } from './keys.ts'
import { valuesLike } from './likely-values.ts'
import { orderOf, type Order } from './order.ts'
import type { Query } from './query.ts'
import { FIELD } from './schema.ts'
import type { EngineHit, SearchBody, Searcher } from './searcher.ts'
import { visibleQuery } from './visible.ts'

/** What a hit tells besides its tie. */
const HIT_FIELDS = [FIELD.value('kind'), FIELD.value('apiversion')]

export async function searchIndex(search: Searcher, request: SearchRequest): Promise<SearchResult> {
  const ranks = request.sort.length === 0 && request.ranked.length > 0
  const order = orderOf(request.sort, ranks)
  const query = found(request)
  const answer = await search(pageOf(request, order, ranks ? ranked(query, request) : query))
  const { hits, total } = answer.hits
  return {
    total: total?.value ?? 0,
    totalIsExact: true,
    hits: hits.slice(0, request.limit).map((hit) => hitOf(hit, order, ranks)),
    more: hits.length > request.limit,
    facets: await facetResults(search, query, request.facets, answer),
  }
}

export function countIndex(search: Searcher, request: CountRequest): Promise<CountResult> {
  return countRows(search, found(request), request)
}

export function vocabularyOfIndex(search: Searcher, request: VocabularyRequest): Promise<VocabularyResult> {
  return valuesLike(search, found(request), request)
}

function found({ predicate, visible }: Pick<SearchRequest, 'predicate' | 'visible'>): Query {
  const query = compileFilter(predicate)
  // A filter even where there is only one condition: nothing here is scored.
  return { bool: { filter: visible === undefined ? [query] : [query, visibleQuery(visible)] } }
}

function pageOf(request: SearchRequest, order: Order, query: Query): SearchBody {
  return {
    query,
    size: request.limit + 1,
    track_total_hits: true,
    sort: order.sort,
    docvalue_fields: HIT_FIELDS,
    ...(request.after === undefined ? {} : { search_after: order.after(request.after) }),
    ...(request.facets.length === 0 ? {} : { aggs: facetAggregations(request.facets) }),
  }
}

/** Adds up what each text is worth in each of its tiers: whole numbers, exact in the engine's floats. */
function ranked(query: Query, { ranked: texts }: SearchRequest): Query {
  const scored = (filter: Query, boost: number): Query => ({ constant_score: { filter, boost } })
  const should = texts.flatMap((text) => [
    ...TEXT_TIERS.map((tier) => scored(compileText(text, [tier]), RANK[tier])),
    ...(text.type === 'phrase' && !text.prefix ? [scored(exactName(text.whole), RANK.nameExact)] : []),
  ])
  return { bool: { filter: [query], should, minimum_should_match: 0 } }
}

function hitOf(hit: EngineHit, order: Order, ranks: boolean): SearchHit {
  const cursor = order.cursor(hit.sort ?? [])
  const { cluster, group, resource, namespace, name, uid } = splitTie(String(cursor.at(-1)))
  const [kind, apiVersion] = HIT_FIELDS.map((field) => markless(hit.fields?.[field]?.[0]))
  const version = parseApiVersion(apiVersion ?? '')?.version ?? ''
  const rank = ranks ? Number(cursor[0]) : 0
  return { cluster, group, version, resource, kind: kind ?? '', namespace, name, uid, rank, cursor }
}

/** The value behind its mark. */
function markless(value: string | number | undefined): string {
  return String(value ?? '').slice(1)
}

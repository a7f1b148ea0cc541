/** One search of an engine: what is sent and the parts of the answer that are read. */
import { EngineError } from './engine-errors.ts'
import { pathOf, type EngineClient } from './engine-client.ts'
import type { Query } from './query.ts'

export interface SearchBody {
  readonly query: Query
  readonly size: number
  readonly sort?: readonly object[]
  readonly search_after?: readonly (string | number | null)[]
  readonly docvalue_fields?: readonly string[]
  readonly aggs?: Readonly<Record<string, object>>
  readonly track_total_hits: boolean
}

export interface EngineHit {
  readonly _index: string
  readonly _id: string
  readonly sort?: readonly (string | number | null)[]
  readonly fields?: Readonly<Record<string, readonly (string | number)[]>>
}

export interface Buckets {
  readonly buckets: readonly Bucket[]
  readonly sum_other_doc_count?: number
}

/** With the aggregations inside of it by their names. */
export type Bucket = { readonly key: string; readonly doc_count: number } & Readonly<Record<string, unknown>>

export interface EngineAnswer {
  readonly hits: { readonly total?: { readonly value: number }; readonly hits: readonly EngineHit[] }
  /** Undefined where there is no index. */
  readonly aggregations?: Readonly<Record<string, unknown>>
  readonly timed_out: boolean
}

export type Searcher = (body: SearchBody) => Promise<EngineAnswer>

/** Over what `indices` (an alias of them) hold at each search, or over one state of them. All of it or an error, never a part. */
export function searcherOf(client: EngineClient, indices: string, pointInTime?: PointInTime): Searcher {
  return async (body) => {
    const sent = { _source: false, ...body }
    if (pointInTime === undefined) return searchIndices(client, indices, sent)
    const { id, keepAlive, onRenewed } = pointInTime
    const held = { ...sent, pit: { id, keep_alive: keepAlive } }
    const answer = await send<EngineAnswer & { readonly pit_id?: string }>(client, '/_search', {}, held)
    if (answer.pit_id !== undefined && answer.pit_id !== id) onRenewed(answer.pit_id)
    return answer
  }
}

export interface PointInTime {
  readonly id: string
  readonly keepAlive: string
  /** It is known by another id from now on. */
  readonly onRenewed: (id: string) => void
}

/** `indices`: names of them or of aliases, by commas; those that there are not hold nothing. */
export function searchIndices<Answer extends Timed>(
  client: EngineClient,
  indices: string,
  body: object,
): Promise<Answer> {
  return send(client, pathOf(indices, '_search'), { ignore_unavailable: true, allow_no_indices: true }, body)
}

interface Timed {
  readonly timed_out: boolean
}

async function send<Answer extends Timed>(
  client: EngineClient,
  path: string,
  options: Readonly<Record<string, boolean>>,
  body: object,
): Promise<Answer> {
  const query = { ...options, allow_partial_search_results: false }
  const answer = await client.request<Answer>({ method: 'POST', path, query, body })
  if (answer.timed_out) throw new EngineError(0, 'timed_out', 'a search took too long')
  return answer
}

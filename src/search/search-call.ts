/** One call of an endpoint of search: what was asked, by whom, and what of everything that caller may see. */
import type { ServerResponse } from 'node:http'
import type { Exchange } from '../http/answer.ts'
import type { ApiHandler, ApiRequest } from '../http/api-request.ts'
import { freshnessHeaders, type ClusterFreshness } from '../http/freshness.ts'
import { readParameters } from '../http/parameters.ts'
import { methodNotAllowed, pathNotFound } from '../http/status-response.ts'
import { isStatusError, StatusError } from '../kube/status-error.ts'
import type { FieldCatalog } from '../query/fields.ts'
import type { VisibleDocuments } from '../query/search-request.ts'
import { traceClient } from '../telemetry/tracing.ts'
import { clusterFreshness, seconds, shownFreshness } from './cluster-freshness.ts'
import { currentFields } from './current-fields.ts'
import { negotiateFormat, type RowFormat } from './row-format.ts'
import type { IndexStatus, SearchParts } from './search-parts.ts'
import { documentsVisibleTo, type VisibleToCaller } from './visible-documents.ts'

export interface SearchCall {
  readonly parts: SearchParts
  readonly exchange: Exchange
  readonly parameters: URLSearchParams
  /** Below `/proxy`, where an answer may last. */
  readonly long: boolean
  readonly format: RowFormat
  readonly fields: FieldCatalog
  readonly visible: VisibleToCaller
  readonly freshness: readonly ClusterFreshness[]
  /** Asked before the search: what is written meanwhile may or may not be found. */
  readonly index: IndexStatus | undefined
  readonly headers: Readonly<Record<string, string>>
}

const INCOMPLETE = 'not everything that is cached is searchable yet: there may be more'

/** An endpoint at `search/<name>` and `search/<name>/proxy`, by GET and POST. */
export function createSearchEndpoint(parts: SearchParts, answer: (call: SearchCall) => Promise<void>): ApiHandler {
  return async (request, response) => answer(await prepare(parts, request, response))
}

async function prepare(parts: SearchParts, request: ApiRequest, response: ServerResponse): Promise<SearchCall> {
  const { method, path } = request
  const long = path === '/proxy' || path === '/proxy/'
  if (!long && path !== '' && path !== '/') throw pathNotFound()
  if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') {
    throw methodNotAllowed({ group: 'search.karmada.io', resource: 'search' }, method.toLowerCase())
  }
  const format = negotiateFormat(request.incoming.headers.accept)
  const parameters = await readParameters(request)
  const [visible, fields] = await Promise.all([
    documentsVisibleTo(parts.rights, parts.cache, request),
    currentFields(parts),
  ])
  const freshness = clusterFreshness(parts, visible)
  return {
    parts,
    exchange: { request, response },
    parameters,
    long,
    format,
    fields,
    visible,
    freshness,
    index: parts.index?.status(),
    headers: freshnessHeaders(freshness) as Record<string, string>,
  }
}

/** Whose call it is, for what is bounded for each user. */
export function userOf({ exchange: { request } }: SearchCall): string {
  return request.user.name
}

/** The rights of a call as a store's request has them. */
export function visibleOf({ visible: { documents } }: SearchCall): { readonly visible?: VisibleDocuments } {
  return documents === undefined ? {} : { visible: documents }
}

const STORE_SPAN = { name: 'search store', attributes: { 'db.operation.name': 'search' } }

/** A store that fails is told as 503; what it finds wrong with the request is not. */
export async function asked<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await traceClient(() => STORE_SPAN, call)
  } catch (error) {
    if (isStatusError(error)) throw error
    throw new StatusError('serviceUnavailable', 'the search store cannot answer at the moment', { cause: error })
  }
}

export function isComplete({ index }: SearchCall): boolean {
  return index?.complete !== false
}

/** What stands at the end of every answer: warnings, freshness, the state of the index. */
export function tailOf(call: SearchCall, warnings: readonly string[] = []): object {
  const { freshness, index } = call
  const all = isComplete(call) ? warnings : [...warnings, INCOMPLETE]
  return {
    ...(all.length === 0 ? {} : { warnings: all }),
    freshness: freshness.map(shownFreshness),
    ...(index === undefined ? {} : { index: { pending: index.pending, lagSeconds: seconds(index.lagMs) } }),
  }
}

/**
 * `search/opensearch/…` and `search/elasticsearch/…`: searches in the engine's own language, read only.
 *
 * A request is parsed to what is known to be harmless, made anew, narrowed to what its caller may see and to this
 * installation's indices, and answered as the engine answers it, so that an engine's own clients read it. What is not known
 * is refused with its path. Nothing is scored: an engine's scores tell of documents that the caller does not see. Below
 * `proxy/` the same, under a subresource that does not change with the index (roles name subresources one by one).
 */
import { sendBytes } from '../../http/answer.ts'
import type { ApiHandler, ApiRequest } from '../../http/api-request.ts'
import { methodNotAllowed } from '../../http/status-response.ts'
import { badRequest, isStatusError, StatusError } from '../../kube/status-error.ts'
import type { NativeAnswer, NativeHit, NativeSearch } from '../../query/native-search.ts'
import type { VisibleDocuments } from '../../query/search-request.ts'
import { freshnessHeaders } from '../../http/freshness.ts'
import { clusterFreshness } from '../cluster-freshness.ts'
import { asked } from '../search-call.ts'
import type { SearchParts } from '../search-parts.ts'
import { documentsVisibleTo } from '../visible-documents.ts'
import {
  catRows,
  catText,
  countAnswer,
  documentAnswer,
  fieldCapsAnswer,
  isCatColumn,
  mappingAnswer,
  searchAnswer,
  type CatColumn,
  type ShownIndex,
} from './answers.ts'
import { Piece } from './piece.ts'
import { readJsonBody, readSearchLines, type SearchLine } from './read-body.ts'
import { readMultiGet } from './read-mget.ts'
import { readNativeCount, readNativeSearch, type NativeBody } from './read-search.ts'
import { indicesOf, targetOf, type Indices, type Target } from './target.ts'

export interface PassthroughParts extends Pick<SearchParts, 'rights' | 'cache' | 'clusters' | 'clock'> {
  readonly engine: 'opensearch' | 'elasticsearch'
  /** The store in such an engine that is searched; undefined: there is none. */
  readonly native: () => NativeSearch | undefined
}

const FLAT_TYPES = { opensearch: 'flat_object', elasticsearch: 'flattened' } as const

/** Clients of Elasticsearch talk to nobody who does not say that he is it. */
const HEADERS = { opensearch: {}, elasticsearch: { 'x-elastic-product': 'Elasticsearch' } } as const

/** Parameters that say the same as a body, and those that change nothing here (`source` is read as the body). */
const IN_BODY = ['size', 'from', 'track_total_hits'] as const
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'allow_no_indices',
  'allow_partial_search_results',
  'batched_reduce_size',
  'ccs_minimize_roundtrips',
  'expand_wildcards',
  'fields',
  'human',
  'ignore_throttled',
  'ignore_unavailable',
  'max_concurrent_searches',
  'max_concurrent_shard_requests',
  'preference',
  'pretty',
  'source',
  'source_content_type',
  'timeout',
])

export function createPassthroughHandler(parts: PassthroughParts): ApiHandler {
  return async (request, response) => {
    const { method } = request
    if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') {
      throw methodNotAllowed({ group: 'search.karmada.io', resource: 'search' }, method.toLowerCase())
    }
    const target = targetOf(request.path.replace(/^\/proxy(?=\/|$)/, ''))
    const native = parts.native()
    if (native === undefined) throw noSuchStore(parts.engine)
    const seen = await documentsVisibleTo(parts.rights, parts.cache, request)
    const call = { request, target, native, visible: seen.documents, engine: parts.engine }
    const { status = 200, body } = await answer(call)
    const isText = typeof body === 'string'
    const headers = {
      'content-type': isText ? 'text/plain; charset=UTF-8' : 'application/json',
      ...HEADERS[parts.engine],
      ...(freshnessHeaders(clusterFreshness(parts, seen)) as Record<string, string>),
    }
    await sendBytes(
      { request, response },
      { status, headers },
      Buffer.from(isText ? body : `${JSON.stringify(body)}\n`),
    )
  }
}

interface Call {
  readonly request: ApiRequest
  readonly target: Target
  readonly native: NativeSearch
  readonly visible: VisibleDocuments | undefined
  readonly engine: PassthroughParts['engine']
}

interface Answer {
  readonly status?: number
  /** A text is sent as it is. */
  readonly body: object | string
}

async function answer(call: Call): Promise<Answer> {
  const { request, target, engine } = call
  switch (target.type) {
    case 'root': {
      const version = await asked(() => call.native.version())
      return { body: { name: 'fleetsearch', cluster_name: 'fleetsearch', version, tagline: 'read only' } }
    }
    case 'search': {
      const search = readNativeSearch(withParameters(await readJsonBody(request), request.query))
      return { body: searchAnswer(await run(call, target.indices, search), search, asNumber(request)) }
    }
    case 'count': {
      const count = readNativeCount(withParameters(await readJsonBody(request), request.query))
      return { body: countAnswer(await run(call, target.indices, count)) }
    }
    case 'multiSearch':
      return { body: await multiSearch(call, target.indices) }
    case 'multiGet':
      return { body: await multiGet(call, target.indices) }
    case 'catIndices':
      return { body: await catIndices(call, target.indices) }
    case 'document':
      return document(call, target)
    case 'mapping':
      return { body: mappingAnswer(target.indices, FLAT_TYPES[engine]) }
    case 'fieldCaps':
      return { body: fieldCapsAnswer(target.indices, FLAT_TYPES[engine]) }
    default:
      return target satisfies never
  }
}

function run({ native, visible }: Call, { kinds }: Indices, body: NativeBody): Promise<NativeAnswer> {
  return asked(() => native.search({ ...body, visible, ...(kinds === undefined ? {} : { kinds }) }))
}

/** One after another: each may take as much of the engine as a search of its own. */
async function multiSearch(call: Call, indices: Indices): Promise<object> {
  const lines = await readSearchLines(call.request)
  const responses: object[] = []
  for (const line of lines) responses.push(await oneOfMany(call, indices, line))
  return { took: 0, responses }
}

async function oneOfMany(call: Call, indices: Indices, { header, body }: SearchLine): Promise<object> {
  try {
    const own = new Piece(header, 'header').object(['index', ...WITHOUT_EFFECT]).get('index')
    const named =
      own === undefined
        ? indices
        : indicesOf(
            own
              .list(100)
              .map((each) => each.text())
              .join(','),
          )
    const search = readNativeSearch(body)
    return { ...searchAnswer(await run(call, named, search), search, asNumber(call.request)), status: 200 }
  } catch (error) {
    if (!isStatusError(error, 'badRequest')) throw error
    return { status: 400, error: { type: 'bad_request', reason: error.message } }
  }
}

/** By one search for each index that is named. */
async function multiGet(call: Call, indices: Indices): Promise<object> {
  const wanted = readMultiGet(await readJsonBody(call.request), indices)
  const found = new Map<string, NativeHit>()
  const keyOf = (of: Indices, id: string): string => `${of.names.join(',')} ${id}`
  for (const [, docs] of Map.groupBy(wanted, (each) => each.indices.names.join(','))) {
    const [first] = docs
    if (first === undefined) continue
    const values = [...new Set(docs.map(({ id }) => id))]
    const search = { query: { ids: { values } }, size: values.length, from: 0, sort: [], trackTotalHits: false }
    const { hits } = await run(call, first.indices, search)
    for (const hit of hits) found.set(keyOf(first.indices, hit._id), hit)
  }
  return { docs: wanted.map(({ indices: of, id }) => documentAnswer(id, of, found.get(keyOf(of, id)))) }
}

/** Those of which the caller sees a document, with how many he sees. */
async function catIndices(call: Call, indices: Indices): Promise<object | string> {
  const { query } = call.request
  for (const name of query.keys()) {
    if (!CAT_PARAMETERS.has(name) && !WITHOUT_EFFECT.has(name)) throw notAllowed(name)
  }
  const columns = catColumns(query.get('h'))
  const kinds = { terms: { field: 'kind.keyword', size: MAX_KINDS } }
  const search = {
    query: { match_all: {} },
    size: 0,
    from: 0,
    sort: [],
    trackTotalHits: false,
    aggregations: { kinds },
  }
  const { aggregations } = await run(call, indices, search)
  const { buckets = [] } = (aggregations?.['kinds'] ?? {}) as { buckets?: { key: string; doc_count: number }[] }
  const counts = new Map<string, number>()
  for (const { key, doc_count } of buckets) {
    const index = `kubernetes-${key.toLowerCase()}`
    counts.set(index, (counts.get(index) ?? 0) + doc_count)
  }
  const shown = [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([index, documents]): ShownIndex => ({ index, documents }))
  const rows = catRows(shown, columns)
  return query.get('format') === 'json' ? rows : catText(rows, columns, isSet(query, 'v'))
}

const CAT_PARAMETERS: ReadonlySet<string> = new Set(['format', 'v', 'h'])
/** More kinds than any fleet has. */
const MAX_KINDS = 10_000

function catColumns(text: string | null): CatColumn[] | undefined {
  const names = text?.split(',') ?? []
  const [unknown] = names.filter((name) => !isCatColumn(name))
  if (unknown !== undefined)
    throw badRequest(`the parameter h: there is no column ${JSON.stringify(unknown.slice(0, 80))}`)
  return names.length === 0 ? undefined : names.filter(isCatColumn)
}

function isSet(query: URLSearchParams, name: string): boolean {
  return query.has(name) && query.get(name) !== 'false'
}

/** As older clients have totals. */
function asNumber({ query }: ApiRequest): boolean {
  return isSet(query, 'rest_total_hits_as_int')
}

async function document(
  call: Call,
  { indices, id, sourceOnly }: Extract<Target, { type: 'document' }>,
): Promise<Answer> {
  const query = { ids: { values: [id] } }
  const { hits } = await run(call, indices, { query, size: 1, from: 0, sort: [], trackTotalHits: false })
  const [hit] = hits
  if (sourceOnly && hit?._source !== undefined) return { body: hit._source }
  return { ...(hit === undefined ? { status: 404 } : {}), body: documentAnswer(id, indices, hit) }
}

function withParameters(body: unknown, query: URLSearchParams): unknown {
  const more: Record<string, unknown> = {}
  for (const name of query.keys()) {
    if ((IN_BODY as readonly string[]).includes(name)) more[name] = parsed(name, query.get(name) ?? '')
    else if (!WITHOUT_EFFECT.has(name) && name !== 'rest_total_hits_as_int') throw notAllowed(name)
  }
  if (body === undefined) return more
  // Whatever it is, the reader says so.
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...more, ...body } : body
}

function notAllowed(name: string): StatusError {
  return badRequest(`the parameter ${JSON.stringify(name.slice(0, 80))} is not allowed`)
}

function parsed(name: string, text: string): unknown {
  if (!/^(?:\d{1,9}|true|false)$/.test(text)) throw badRequest(`the parameter ${name} is no number`)
  return JSON.parse(text) as unknown
}

function noSuchStore(engine: PassthroughParts['engine']): StatusError {
  return new StatusError(
    'notImplemented',
    `nothing is kept in ${engine} here: search/query searches whatever store there is`,
  )
}

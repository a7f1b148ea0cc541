/**
 * `search/opensearch/…` and `search/elasticsearch/…`: searches in the engine's own language, read only.
 *
 * A request is parsed to what is known to be harmless, made anew, narrowed to what its caller may see and to this
 * installation's indices, and answered as the engine answers it, so that an engine's own clients read it. What is not known
 * is refused with its path. Nothing is scored: an engine's scores tell of documents that the caller does not see. Below
 * `proxy/` the same, under a subresource that does not change with the index (roles name subresources one by one).
 */
import type { ServerResponse } from 'node:http'
import { sendBytes, type Exchange } from '../../http/answer.ts'
import type { ApiHandler, ApiRequest } from '../../http/api-request.ts'
import { methodNotAllowed } from '../../http/status-response.ts'
import { isStatusError, StatusError } from '../../kube/status-error.ts'
import { globMatcher } from '../../query/glob.ts'
import type { NativeHit, NativeSearch } from '../../query/native-search.ts'
import { freshnessHeaders } from '../../http/freshness.ts'
import { clusterFreshness } from '../cluster-freshness.ts'
import { asked } from '../search-call.ts'
import type { SearchParts } from '../search-parts.ts'
import { documentsVisibleTo } from '../visible-documents.ts'
import { countAnswer, documentAnswer, fieldCapsAnswer, mappingAnswer, resolveAnswer, searchAnswer } from './answers.ts'
import { keptSearch, submitSearch } from './async-calls.ts'
import { AsyncSearches } from './async-searches.ts'
import { run, type Answer, type Call, type Engine } from './call.ts'
import { engineErrorOf } from './engine-error.ts'
import { formOf, WITHOUT_EFFECT, withParameters } from './parameters.ts'
import { Piece } from './piece.ts'
import { readJsonBody, readSearchLines, type SearchLine } from './read-body.ts'
import { readMultiGet } from './read-mget.ts'
import { readNativeCount, readNativeSearch } from './read-search.ts'
import { catIndices, shownIndices } from './shown-indices.ts'
import { indicesOf, targetOf, type Indices, type Target } from './target.ts'
import { readTermsEnum, termsEnumAnswer } from './terms-enum.ts'

export interface PassthroughParts extends Pick<SearchParts, 'rights' | 'cache' | 'clusters' | 'clock' | 'usage'> {
  readonly engine: Engine
  /** The store in such an engine that is searched; undefined: there is none. */
  readonly native: () => NativeSearch | undefined
}

const FLAT_TYPES = { opensearch: 'flat_object', elasticsearch: 'flattened' } as const

/** Clients of Elasticsearch talk to nobody who does not say that he is it. */
const HEADERS = { opensearch: {}, elasticsearch: { 'x-elastic-product': 'Elasticsearch' } } as const

export function createPassthroughHandler(parts: PassthroughParts): ApiHandler {
  const searches = new AsyncSearches(parts.clock)
  if (parts.engine === 'elasticsearch') parts.usage?.watch('async_searches', searches)
  const tell = async (request: ApiRequest, response: ServerResponse): Promise<void> => {
    const target = targetOf(request.path.replace(/^\/proxy(?=\/|$)/, ''))
    allowMethod(request.method, target)
    const native = parts.native()
    if (native === undefined) throw noSuchStore(parts.engine)
    const seen = await documentsVisibleTo(parts.rights, parts.cache, request)
    const call = { request, target, native, visible: seen.documents, engine: parts.engine, searches }
    const { status = 200, body, headers: own } = await answer(call)
    const isText = typeof body === 'string'
    const headers = {
      'content-type': isText ? 'text/plain; charset=UTF-8' : 'application/json',
      ...HEADERS[parts.engine],
      ...own,
      ...(freshnessHeaders(clusterFreshness(parts, seen)) as Record<string, string>),
    }
    await sendBytes(
      { request, response },
      { status, headers },
      Buffer.from(isText ? body : `${JSON.stringify(body)}\n`),
    )
  }
  return async (request, response) => {
    try {
      await tell(request, response)
    } catch (error) {
      if (!isStatusError(error) || response.headersSent) throw error
      await sendError({ request, response }, error, parts.engine)
    }
  }
}

function sendError(exchange: Exchange, error: StatusError, engine: Engine): Promise<void> {
  const told = engineErrorOf(error)
  const { retryAfterSeconds } = error.details ?? {}
  const headers = {
    'content-type': 'application/json',
    ...HEADERS[engine],
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  }
  return sendBytes(exchange, { status: told.status, headers }, Buffer.from(`${JSON.stringify(told)}\n`))
}

/** All is read only; what is deleted is an answer that is kept here. */
function allowMethod(method: string, { type }: Target): void {
  if (method === 'DELETE' && type === 'asyncSearch') return
  if (method === 'GET' || method === 'HEAD' || method === 'POST') return
  throw methodNotAllowed({ group: 'search.karmada.io', resource: 'search' }, method.toLowerCase())
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
      return { body: searchAnswer(await run(call, target.indices, search), search, formOf(request)) }
    }
    case 'submitSearch':
      return submitSearch(call, target.indices)
    case 'asyncSearch':
      return keptSearch(call, target)
    case 'termsEnum': {
      const values = readTermsEnum(await readJsonBody(request))
      return { body: termsEnumAnswer(await run(call, target.indices, values)) }
    }
    case 'resolveIndex': {
      const matches = target.patterns.map((pattern) => globMatcher(pattern))
      const indices = await shownIndices(call, indicesOf('_all'))
      return { body: resolveAnswer(indices.map(({ index }) => index).filter((name) => matches.some((is) => is(name)))) }
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
    return { ...searchAnswer(await run(call, named, search), search, formOf(call.request)), status: 200 }
  } catch (error) {
    if (!isStatusError(error, 'badRequest')) throw error
    return engineErrorOf(error)
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

function noSuchStore(engine: Engine): StatusError {
  return new StatusError(
    'notImplemented',
    `nothing is kept in ${engine} here: search/query searches whatever store there is`,
  )
}

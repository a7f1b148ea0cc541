/**
 * `search/cache/<native path>`: the objects of every cluster as one list, as karmada-search answers it, and what it does
 * not do: order, paging, field selectors, clusters, sorting, Tables, freshness (docs/api.md).
 */
import type { CacheReader, ResourceReader } from '../cache/reader.ts'
import type { Representation } from '../http/accept.ts'
import { negotiate } from '../http/accept.ts'
import type { ApiHandler, ApiRequest } from '../http/api-request.ts'
import type { Exchange } from '../http/answer.ts'
import type { ColumnSource } from '../http/column-source.ts'
import { freshnessHeaders, freshnessOf, warningValue } from '../http/freshness.ts'
import type { ListOptions } from '../http/list-options.ts'
import { parseBool, parseListOptions } from '../http/list-options.ts'
import type { ListAnswer, ObjectSequence } from '../http/object-list.ts'
import { parseIncludeObject, sendList } from '../http/object-list.ts'
import { readPage } from '../http/object-page.ts'
import { requestedColumns } from '../http/cluster-column.ts'
import type { FieldSource } from '../http/field-source.ts'
import { selectedClusters } from '../http/field-source.ts'
import { compileSelection } from '../http/selection.ts'
import { parseSortBy } from '../http/sort-by.ts'
import { readSortedPage } from '../http/sorted-page.ts'
import type { Rights } from '../http/rights.ts'
import { sendStatus } from '../http/status-response.ts'
import { apiVersionOf } from '../kube/group-version.ts'
import type { ClusterName } from '../kube/names.ts'
import type { ResourcePath } from '../kube/resource-path.ts'
import { parseResourcePath } from '../kube/resource-path.ts'
import { badRequest, isStatusError, StatusError } from '../kube/status-error.ts'
import type { Clock } from '../util/clock.ts'
import { parseClusterFilter } from './cluster-filter.ts'
import type { ClusterNames, KnownResource, KnownResources } from './known-resources.ts'
import { visibleTo } from './visible-resource.ts'

export interface SearchCacheOptions {
  readonly cache: Pick<CacheReader, 'resource'>
  readonly known: KnownResources
  readonly clusters: ClusterNames
  readonly columns: ColumnSource
  /** Undefined: only the fields of a real API server. */
  readonly fields?: FieldSource | undefined
  readonly clock: Clock
  /** Undefined: everybody sees everything. */
  readonly rights?: Rights | undefined
}

/** `request.path` is the native path: what follows `search/cache`. */
export function createSearchCacheHandler(options: SearchCacheOptions): ApiHandler {
  return async (request, response) => {
    try {
      await serve(options, { request, response })
    } catch (error) {
      if (!isStatusError(error) || response.headersSent) throw error
      sendStatus(response, error.toStatus(), { errorField: true })
    }
  }
}

async function serve(options: SearchCacheOptions, exchange: Exchange): Promise<void> {
  const { request } = exchange
  if (request.method !== 'GET')
    throw new StatusError('methodNotAllowed', 'search/cache is read by GET', { details: {} })
  const path = nativePath(request.path)
  const target = resolveTarget(options, path)
  if (path.namespace !== undefined && !target.known.namespaced) throw neverServed(path)
  const read = parseRead(options, request)
  if (target.reader === undefined) return sendNothing(options, exchange, target, read)
  await sendCached(options, exchange, path, target.reader, read)
}

/** Everything of a request but its path. */
interface Read {
  readonly list: ListOptions
  readonly clusters: ReadonlySet<ClusterName> | undefined
  readonly representation: Representation
}

function parseRead(options: SearchCacheOptions, request: ApiRequest): Read {
  if (parseBool(request.query.get('watch')) === true) throw watchRefused()
  return {
    list: parseListOptions(request.query, 'list'),
    clusters: parseClusterFilter(request.query, options.clusters),
    representation: negotiate(request.incoming.headers.accept, 'list'),
  }
}

/** What answers: a cached resource, or nobody where it is known and not registered (in that version). */
interface Target {
  readonly known: KnownResource
  readonly reader: ResourceReader | undefined
  /** The version that is cached instead. */
  readonly otherVersion?: string
}

function resolveTarget({ cache, known }: SearchCacheOptions, path: ResourcePath): Target {
  const reader = cache.resource({ group: path.group, resource: path.resource })
  if (reader !== undefined && reader.gvr.version === path.version) {
    return { known: { ...reader.gvr, kind: reader.kind, namespaced: reader.namespaced }, reader }
  }
  const resource = known.known(path.group, path.version, path.resource)
  if (resource === undefined) throw known.heard() ? neverServed(path) : nobodyHeard()
  if (reader === undefined) return { known: resource, reader: undefined }
  return { known: resource, reader: undefined, otherVersion: apiVersionOf(reader.gvr) }
}

async function sendCached(
  { columns, fields, clock, rights }: SearchCacheOptions,
  exchange: Exchange,
  path: ResourcePath,
  reader: ResourceReader,
  { list, clusters: named, representation }: Read,
): Promise<void> {
  const gvk = { group: reader.gvr.group, version: reader.gvr.version, kind: reader.kind }
  // A namespaced object has no path without its namespace: as in the original, nothing is found there.
  const namespace = path.namespace ?? (path.name !== undefined && reader.namespaced ? '' : undefined)
  const selection = await compileSelection({ ...list, namespace, name: path.name }, gvk, fields)
  const present = reader.shards().map(({ cluster }) => cluster)
  const clusters = selectedClusters(present, named, selection.clusters)
  const chosen = (cluster: ClusterName): boolean => clusters === undefined || clusters.has(cluster)
  const visible = await visibleTo(rights, exchange.request, path, reader, chosen)
  const request = {
    selection: namespace === '' ? { ...selection, nothing: true } : selection,
    clusters,
    limit: list.limit,
    continue: list.continue,
  }
  const sortBy = exchange.request.query.get('sortBy') ?? ''
  const kindColumns = (): ReturnType<ColumnSource['columnsFor']> => columns.columnsFor(reader.gvr, reader.kind)
  const page =
    sortBy === ''
      ? await readPage(visible.source, request)
      : await readSortedPage(visible.source, request, parseSortBy(sortBy, await kindColumns()))
  const shown = reader.shards().filter(({ cluster }) => chosen(cluster) && !visible.hidden.has(cluster))
  const freshness = shown.map((shard) => ({
    ...freshnessOf(shard, clock.monotonicMs()),
    inPart: visible.inPart.has(shard.cluster),
  }))
  const answer: ListAnswer = {
    apiVersion: apiVersionOf(reader.gvr),
    kind: reader.kind,
    metadata: pageMetadata(page),
    items: page,
    headers: freshnessHeaders([...visible.refused, ...freshness]),
    columns: () => requestedColumns(exchange.request, kindColumns()),
  }
  await sendList(exchange, answer, representation, tableOptions(exchange.request, clock))
}

const NOTHING: ObjectSequence = {
  length: 0,
  bytesAt: () => {
    throw new RangeError('an empty list has no items')
  },
}

/** Known, not registered: an empty list, and nothing about that in its body. */
async function sendNothing(
  { columns, fields, clock }: SearchCacheOptions,
  exchange: Exchange,
  { known, otherVersion }: Target,
  { list, representation }: Read,
): Promise<void> {
  await compileSelection({ ...list, namespace: undefined, name: undefined }, known, fields)
  const warning =
    otherVersion === undefined
      ? {}
      : { warning: warningValue(`${known.resource} is registered as ${otherVersion}: ask for that version`) }
  const answer: ListAnswer = {
    apiVersion: apiVersionOf(known),
    kind: known.kind,
    metadata: {},
    items: NOTHING,
    headers: warning,
    columns: () => requestedColumns(exchange.request, columns.columnsFor(known, known.kind)),
  }
  await sendList(exchange, answer, representation, tableOptions(exchange.request, clock))
}

function tableOptions(request: ApiRequest, clock: Clock): Parameters<typeof sendList>[3] {
  return { includeObject: parseIncludeObject(request.query), nowMs: clock.nowMs() }
}

function pageMetadata(page: { continue: string; remaining: number | undefined }): ListAnswer['metadata'] {
  return {
    ...(page.continue === '' ? {} : { continue: page.continue }),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  }
}

const PROXY_HINT = 'the proxy, proxying/<any name>/proxy/<native path>, serves it'

function nativePath(path: string): ResourcePath {
  const parsed = parseResourcePath(path)
  if (parsed === undefined) {
    throw badRequest(
      `search/cache is followed by the native path of a resource, such as api/v1/pods; as for other paths, ${PROXY_HINT}`,
    )
  }
  if (parsed.watch) throw watchRefused()
  if (parsed.subresource !== undefined) {
    throw badRequest(`search/cache has no subresources such as ${parsed.resource}/${parsed.subresource}; ${PROXY_HINT}`)
  }
  return parsed
}

/** Answering with a list, as the original does, would leave a client waiting for events for ever. */
function watchRefused(): StatusError {
  const message = 'Forbidden: search/cache answers lists only; proxying/<any name>/proxy/<native path> is watched'
  return new StatusError('invalid', `ListOptions.meta.k8s.io "" is invalid: watch: ${message}`, {
    details: {
      group: 'meta.k8s.io',
      kind: 'ListOptions',
      causes: [{ reason: 'FieldValueForbidden', message, field: 'watch' }],
    },
  })
}

function nobodyHeard(): StatusError {
  return new StatusError('serviceUnavailable', 'no cluster has told yet what it serves', {
    details: { retryAfterSeconds: 1 },
  })
}

function neverServed(path: ResourcePath): StatusError {
  const what = `${apiVersionOf(path)} ${path.resource}`
  return new StatusError(
    'notFound',
    `the server could not find the requested resource: no cluster and not the control plane has served ${what}` +
      (path.namespace === undefined ? '' : ' in a namespace'),
    { details: { ...(path.group === '' ? {} : { group: path.group }), kind: path.resource } },
  )
}

/** Plugin 1000: get, list and watch of registered resources, out of the cache. Registered, not cached, decides. */
import type { CacheReader, CachedObject, ResourceReader } from '../../cache/reader.ts'
import { negotiate } from '../../http/accept.ts'
import type { Admission } from '../../http/admission.ts'
import { refusalOf, refusedClusters } from '../../http/admission.ts'
import { requestedColumns } from '../../http/cluster-column.ts'
import type { ColumnSource } from '../../http/column-source.ts'
import type { FieldSource } from '../../http/field-source.ts'
import { selectedClusters } from '../../http/field-source.ts'
import { freshnessHeaders, freshnessOf, warningValue, withWarning } from '../../http/freshness.ts'
import type { ListOptions } from '../../http/list-options.ts'
import { parseListOptions } from '../../http/list-options.ts'
import type { ListAnswer, ObjectAnswer } from '../../http/object-list.ts'
import { parseIncludeObject, sendList, sendObject } from '../../http/object-list.ts'
import { readPage } from '../../http/object-page.ts'
import type { Selection } from '../../http/selection.ts'
import { compileSelection } from '../../http/selection.ts'
import { parseSortBy } from '../../http/sort-by.ts'
import { readSortedPage } from '../../http/sorted-page.ts'
import { pathNotFound } from '../../http/status-response.ts'
import type { Rights } from '../../http/rights.ts'
import { requestedVersions, waitForVersions } from '../../http/version-wait.ts'
import type { KindColumns } from '../../kube/columns/column.ts'
import { withResourceVersion } from '../../kube/canonical-object.ts'
import { deprecationOf } from '../../kube/deprecations.ts'
import { apiVersionOf } from '../../kube/group-version.ts'
import { encodeVersionMap } from '../../kube/multi-cluster-version.ts'
import type { ClusterName } from '../../kube/names.ts'
import { badRequest, notFound } from '../../kube/status-error.ts'
import type { ResourcePath } from '../../kube/resource-path.ts'
import type { Clock, Random } from '../../util/clock.ts'
import type { Access } from '../access.ts'
import { accessTo } from '../access.ts'
import { ambiguous, ownersOf } from '../owners.ts'
import type { Plugin, ProxyRequest } from '../plugin.ts'
import { chosenClusters } from '../plugin.ts'
import { serveWatch } from '../watch/serve-watch.ts'
import type { Fences } from '../write/fences.ts'
import type { WatchGuards } from '../watch/watch-guards.ts'

export interface CachePluginOptions {
  readonly cache: Pick<CacheReader, 'resource'>
  readonly columns: ColumnSource
  /** Undefined: only the fields of a real API server. */
  readonly fields?: FieldSource | undefined
  readonly clock: Clock
  readonly random: Random
  /** Writes that reads have to show; undefined: there are none. */
  readonly writes?: {
    readonly fences: Fences
    /** Serves a read from the members, where the cache does not know in time what was written. */
    readonly live: (request: ProxyRequest) => Promise<void>
  }
  /** Undefined: everybody sees everything. */
  readonly rights?: { readonly rights: Rights; readonly guards: WatchGuards } | undefined
}

export function createCachePlugin(options: CachePluginOptions): Plugin {
  return {
    name: 'cache',
    order: 1000,
    supports: (request) => readerFor(options.cache, request) !== undefined && !asksMembers(request),
    async connect(request) {
      const reader = readerFor(options.cache, request)
      const { resource, verb } = request
      if (reader === undefined || resource === undefined) throw pathNotFound()
      if (resource.namespace !== undefined && !reader.namespaced) throw pathNotFound()
      warnOfDeprecation(request, reader)
      const { writes } = options
      if (writes !== undefined && !(await showsWrites(writes.fences, request, reader))) return writes.live(request)
      const access = await accessTo(options.rights?.rights, request, resource, reader)
      if (verb === 'get') return get(options, request, resource, access)
      const list = parseListOptions(request.request.query, verb === 'watch' ? 'watch' : 'list')
      const selection = await selectionOf(options, list, resource, reader)
      if (verb === 'watch') return watch(options, request, reader, access, list, selection)
      return sendCachedList(options, request, access, list, selection)
    },
  }
}

/**
 * A later page is of the state of its first. Who names a version says what he has to see; a watch delivers what was written
 * when it comes: neither has to be read live for what another replica may have written.
 */
async function showsWrites(fences: Fences, request: ProxyRequest, reader: ResourceReader): Promise<boolean> {
  const { query, signal } = request.request
  if ((query.get('continue') ?? '') !== '') return true
  const anyPeers = request.verb === 'watch' || (query.get('resourceVersion') ?? '') !== ''
  return (await fences.settled(reader, chosenClusters(request), signal, anyPeers)) || request.verb === 'watch'
}

/** The cached resource that a read is about, if it is one of that version. */
function readerFor(cache: CachePluginOptions['cache'], { resource, verb }: ProxyRequest): ResourceReader | undefined {
  if (resource === undefined || resource.subresource !== undefined) return undefined
  if (verb !== 'get' && verb !== 'list' && verb !== 'watch') return undefined
  const reader = cache.resource(resource)
  // What is redacted is not what a member would show: it is asked.
  return reader?.gvr.version === resource.version && reader.redacted !== true ? reader : undefined
}

/** Errors carry the warning too; whole answers say it again beside their own. */
function warnOfDeprecation({ response }: ProxyRequest, { gvr, kind }: ResourceReader): void {
  const deprecation = deprecationOf({ ...gvr, kind })
  if (deprecation !== undefined) response.setHeader('warning', warningValue(deprecation))
}

/** Reads that want the members' own word: the next plugin's. Throws `badRequest` for a consistency there is none of. */
export function asksMembers({ request: { query }, verb }: ProxyRequest): boolean {
  const consistency = query.get('consistency')
  const strong = consistency === 'strong'
  if (consistency !== null && !strong) {
    throw badRequest(`consistency: Invalid value: ${JSON.stringify(consistency)}: supported value: "strong"`)
  }
  return verb !== 'watch' && (strong || (verb === 'list' && query.get('resourceVersionMatch') === 'Exact'))
}

async function selectionOf(
  { fields }: CachePluginOptions,
  list: ListOptions,
  resource: ResourcePath,
  reader: ResourceReader,
): Promise<Selection> {
  const gvk = { ...reader.gvr, kind: reader.kind }
  const selection = await compileSelection({ ...list, namespace: resource.namespace, name: undefined }, gvk, fields)
  if (resource.name === undefined) return selection
  if (selection.name !== undefined && selection.name !== resource.name) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name")
  }
  return { ...selection, name: resource.name }
}

async function get(
  { clock, columns }: CachePluginOptions,
  request: ProxyRequest,
  resource: ResourcePath,
  { reader, admission }: Access,
): Promise<void> {
  const { query, incoming, signal } = request.request
  const representation = negotiate(incoming.headers.accept, 'object')
  await waitForVersions(reader, requestedVersions(query.get('resourceVersion') ?? ''), clock, signal)
  const object = theOwner(request, resource, reader, admission)
  const version = encodeVersionMap(new Map([[object.cluster, object.resourceVersion]]))
  const answer: ObjectAnswer = {
    bytes: withResourceVersion(object, version),
    resourceVersion: version,
    headers: freshness(reader, clock, undefined, (cluster) => cluster === object.cluster),
    columns: () => requestedColumns(request.request, columns.columnsFor(reader.gvr, reader.kind)),
  }
  await sendObject(request, answer, representation, { includeObject: parseIncludeObject(query), nowMs: clock.nowMs() })
}

/** Where some clusters do not say whether they have the object, it must not seem deleted. */
function theOwner(
  request: ProxyRequest,
  resource: ResourcePath,
  reader: ResourceReader,
  admission: Admission | undefined,
): CachedObject {
  const owners = ownersOf(reader, resource, chosenClusters(request))
  const [first] = owners
  if (first === undefined && admission !== undefined && admission.refused.length > 0) throw refusalOf(admission)
  if (first === undefined) throw notFound(resource, resource.name ?? '')
  if (owners.length > 1) throw ambiguous(resource, owners)
  return first
}

async function sendCachedList(
  { clock, columns }: CachePluginOptions,
  request: ProxyRequest,
  { reader, admission }: Access,
  list: ListOptions,
  selection: Selection,
): Promise<void> {
  const { query, incoming, signal } = request.request
  const representation = negotiate(incoming.headers.accept, 'list')
  await waitForVersions(reader, requestedVersions(list.resourceVersion), clock, signal)
  const present = reader.shards().map(({ cluster }) => cluster)
  const clusters = selectedClusters(present, chosenClusters(request), selection.clusters)
  const wanted = { selection, clusters, limit: list.limit, continue: list.continue }
  const sortBy = query.get('sortBy') ?? ''
  const kindColumns = (): Promise<KindColumns> => columns.columnsFor(reader.gvr, reader.kind)
  const page =
    sortBy === ''
      ? await readPage(reader, wanted)
      : await readSortedPage(reader, wanted, parseSortBy(sortBy, await kindColumns()))
  const answer: ListAnswer = {
    apiVersion: apiVersionOf(reader.gvr),
    kind: reader.kind,
    metadata: {
      // The original writes an empty one on the last page, a kube-apiserver none; only the plain list is both theirs.
      ...(page.continue === '' && representation.as !== 'object' ? {} : { continue: page.continue }),
      ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
      resourceVersion: page.version,
    },
    items: page,
    headers: freshness(reader, clock, admission, (cluster) => clusters === undefined || clusters.has(cluster)),
    columns: () => requestedColumns(request.request, kindColumns()),
  }
  await sendList(request, answer, representation, { includeObject: parseIncludeObject(query), nowMs: clock.nowMs() })
}

/** `all`: of every cluster. A watch that hides none reads from there, so that all such watches share their events. */
async function watch(
  { clock, columns, random, rights }: CachePluginOptions,
  request: ProxyRequest,
  all: ResourceReader,
  { reader, admission }: Access,
  list: ListOptions,
  selection: Selection,
): Promise<void> {
  const clusters = chosenClusters(request)
  const asked = (): ClusterName[] =>
    all
      .shards()
      .map(({ cluster }) => cluster)
      .filter((cluster) => clusters === undefined || clusters.has(cluster))
  const source = admission === undefined || admission.refused.length > 0 ? reader : all
  return serveWatch(request, {
    reader: admission === undefined || rights === undefined ? source : rights.guards.guard(source, admission, asked),
    list,
    selection,
    clusters,
    columns: () => requestedColumns(request.request, columns.columnsFor(reader.gvr, reader.kind)),
    headers: freshness(reader, clock, admission, (cluster) => clusters === undefined || clusters.has(cluster)),
    clock,
    random,
  })
}

function freshness(
  reader: ResourceReader,
  clock: Clock,
  admission: Admission | undefined,
  covers: (cluster: ClusterName) => boolean,
): ReturnType<typeof freshnessHeaders> {
  const shards = reader.shards().filter(({ cluster }) => covers(cluster))
  const refused = admission === undefined ? [] : refusedClusters(admission)
  const headers = freshnessHeaders([...refused, ...shards.map((shard) => freshnessOf(shard, clock.monotonicMs()))])
  const deprecation = deprecationOf({ ...reader.gvr, kind: reader.kind })
  return deprecation === undefined ? headers : withWarning(headers, deprecation)
}

/** Answers get, list and watch of one resource from the members. */
import type { FleetReader } from '../../fleet/fleet.ts'
import type { Representation } from '../../http/accept.ts'
import { negotiate } from '../../http/accept.ts'
import { sendBytes } from '../../http/answer.ts'
import { requestedColumns, wantsClusterColumn } from '../../http/cluster-column.ts'
import type { ColumnSource } from '../../http/column-source.ts'
import type { FieldSource } from '../../http/field-source.ts'
import { freshnessHeaders } from '../../http/freshness.ts'
import type { ListOptions } from '../../http/list-options.ts'
import { parseListOptions } from '../../http/list-options.ts'
import type { ListMetadata, ObjectAnswer } from '../../http/object-list.ts'
import { parseIncludeObject, sendList, sendObject } from '../../http/object-list.ts'
import type { Rights } from '../../http/rights.ts'
import { parseSortBy } from '../../http/sort-by.ts'
import { pathNotFound } from '../../http/status-response.ts'
import { jsonToYaml } from '../../http/yaml.ts'
import { withResourceVersion, type CanonicalObject } from '../../kube/canonical-object.ts'
import type { KindColumns } from '../../kube/columns/column.ts'
import { columnsOf, defaultColumns } from '../../kube/columns/index.ts'
import { parseFieldSelector } from '../../kube/field-selector.ts'
import { apiVersionOf } from '../../kube/group-version.ts'
import { encodeVersionMap } from '../../kube/multi-cluster-version.ts'
import type { ClusterName, ResourceVersion } from '../../kube/names.ts'
import type { ResourcePath } from '../../kube/resource-path.ts'
import { badRequest } from '../../kube/status-error.ts'
import type { Clock, Random } from '../../util/clock.ts'
import type { ProxyRequest } from '../plugin.ts'
import { serveWatch } from '../watch/serve-watch.ts'
import type { WatchGuards } from '../watch/watch-guards.ts'
import type { AdmittedTarget } from './admit-target.ts'
import { admitTarget } from './admit-target.ts'
import { readLiveObject } from './live-get.ts'
import { readLiveList, type LiveList } from './live-list.ts'
import { liveSelection } from './live-selection.ts'
import { readLiveSorted, type LiveSortedList } from './live-sorted.ts'
import type { LiveBudget } from './live-budget.ts'
import { createLiveWatch } from './live-watch.ts'
import { absenceOf } from './member-fault.ts'
import type { MemberTable } from './member-table.ts'
import { joinTables } from './member-table.ts'
import type { LiveReadOptions } from './read-list.ts'
import type { LiveTarget } from './target.ts'

export interface LiveServices {
  readonly fleet: FleetReader
  readonly columns: ColumnSource
  readonly clock: Clock
  readonly random: Random
  /** Undefined: only the fields that members know. */
  readonly fields?: FieldSource | undefined
  /** Undefined: live lists may take any memory. */
  readonly budget?: LiveBudget | undefined
  /** Undefined: everybody sees everything. */
  readonly rights?: { readonly rights: Rights; readonly guards: WatchGuards } | undefined
}

/** A kube-apiserver gives a list 60 s; what has come by then is better than nothing. */
const LIST_MS = 55_000

/** The members are asked with our own credentials, so that only those are asked that would answer the caller too. */
export async function serveLive(
  services: LiveServices,
  request: ProxyRequest,
  path: ResourcePath,
  served: LiveTarget,
): Promise<void> {
  if (path.namespace !== undefined && !served.namespaced) throw pathNotFound()
  if (request.verb === 'get') {
    const { target } = await admitTarget(services.rights?.rights, request, path, served)
    return get(services, request, path, target)
  }
  const parsed = parseListOptions(request.request.query, request.verb === 'watch' ? 'watch' : 'list')
  const known = request.verb === 'list' ? services.fields : undefined
  const { list, target: narrowed, fields } = await liveSelection(withName(parsed, path), served, known)
  const { target, admission } = await admitTarget(services.rights?.rights, request, path, narrowed)
  if (request.verb === 'watch') return watch(services, request, path, { target, admission }, list)
  const lease = services.budget?.lease()
  const reading = new AbortController()
  const signal = AbortSignal.any([request.request.signal, reading.signal])
  try {
    await listAll(services, request, path, target, list, { signal, hold: lease?.hold, fields })
  } finally {
    reading.abort(new Error('the list has been answered')) // what one member made fail is not read to the end of others
    lease?.release()
  }
}

/** The legacy watch of one object names it in its path. */
function withName(list: ListOptions, { name }: ResourcePath): ListOptions {
  if (name === undefined) return list
  if (!list.fieldSelector.empty) throw badRequest("fieldSelector metadata.name doesn't match requested name")
  return { ...list, fieldSelector: parseFieldSelector(`metadata.name=${name}`) }
}

async function get(
  services: LiveServices,
  request: ProxyRequest,
  path: ResourcePath,
  target: LiveTarget,
): Promise<void> {
  const representation = negotiate(request.request.incoming.headers.accept, 'object')
  if (target.namespaced === (path.namespace === undefined)) throw pathNotFound()
  const read = readOptions(services, request, await memberTables(services, target, representation), representation)
  const { cluster, object, table } = await readLiveObject(target, path, read)
  const headers = freshnessHeaders([{ cluster, state: 'live', ageMs: 0 }])
  if (object === undefined) {
    const version = encodeVersionMap(new Map([[cluster, table?.version ?? ('' as ResourceVersion)]]))
    return sendTables(request, table === undefined ? [] : [table], { resourceVersion: version }, headers, version)
  }
  const { bytes, meta } = object
  const version = encodeVersionMap(new Map([[cluster, meta.resourceVersion]]))
  const { versionStart, versionEnd } = meta
  const answer: ObjectAnswer = {
    bytes: withResourceVersion({ bytes, versionStart, versionEnd }, version),
    resourceVersion: version,
    headers,
    columns: () => requestedColumns(request.request, services.columns.columnsFor(target.gvr, target.kind)),
  }
  await sendObject(request, answer, representation, tableOptions(services, request))
}

async function listAll(
  services: LiveServices,
  request: ProxyRequest,
  path: ResourcePath,
  target: LiveTarget,
  list: ListOptions,
  bounds: Pick<LiveReadOptions, 'signal' | 'hold' | 'fields'>,
): Promise<void> {
  const representation = negotiate(request.request.incoming.headers.accept, 'list')
  const sortText = request.request.query.get('sortBy') ?? ''
  // Rows that a member has made can be neither tested nor sorted.
  const rows = sortText === '' && bounds.fields === undefined
  const own = rows && (await memberTables(services, target, representation))
  const untilMs = services.clock.monotonicMs() + LIST_MS
  const read = { ...readOptions(services, request, own, representation), ...bounds, untilMs }
  const wanted = { ...read, target, namespace: path.namespace, list }
  const kindColumns = (): Promise<KindColumns> => services.columns.columnsFor(target.gvr, target.kind)
  const result: Shown =
    sortText === ''
      ? unsorted(await readLiveList(wanted))
      : await readLiveSorted(wanted, parseSortBy(sortText, await kindColumns()))
  const live = result.clusters.map((cluster) => ({ cluster, state: 'live' as const, ageMs: 0 }))
  const headers = freshnessHeaders([...live, ...result.absent])
  const metadata: ListMetadata = {
    ...(result.continue === '' && representation.as !== 'object' ? {} : { continue: result.continue }),
    ...(result.remaining === undefined ? {} : { remainingItemCount: result.remaining }),
    resourceVersion: result.version,
  }
  const tables = result.tables?.filter((table) => table !== undefined) ?? []
  if (tables.length > 0 && tables.length === live.length) return sendTables(request, tables, metadata, headers)
  const answer = {
    apiVersion: apiVersionOf(target.gvr),
    kind: target.kind,
    metadata,
    items: sequence(result.objects),
    headers,
    columns: () => requestedColumns(request.request, kindColumns()),
  }
  await sendList(request, answer, representation, tableOptions(services, request))
}

async function watch(
  services: LiveServices,
  request: ProxyRequest,
  path: ResourcePath,
  { target, admission }: AdmittedTarget,
  list: ListOptions,
): Promise<void> {
  const { clock, random, fleet, rights, budget } = services
  const names = new Set<ClusterName>(target.members.map(({ facts }) => facts.name))
  const asked = [...names, ...target.refused.map(({ cluster }) => cluster)]
  const source = createLiveWatch({ target, fleet, namespace: path.namespace, list, clock, random, budget })
  await serveWatch(request, {
    reader:
      rights === undefined || admission === undefined ? source : rights.guards.guard(source, admission, () => asked),
    list,
    selection: { nothing: false }, // the members have applied the selectors
    clusters: request.cluster === undefined ? undefined : names,
    columns: () => requestedColumns(request.request, services.columns.columnsFor(target.gvr, target.kind)),
    headers: freshnessHeaders([
      ...[...names].map((cluster) => ({ cluster, state: 'live' as const, ageMs: 0 })),
      ...target.absent,
      ...target.refused.map(absenceOf),
    ]),
    clock,
    random,
  })
}

/** Kinds of which nobody here knows the columns are printed by their members. */
async function memberTables(
  { columns }: LiveServices,
  { gvr, kind }: LiveTarget,
  representation: Representation,
): Promise<boolean> {
  if (representation.as !== 'table' || columnsOf({ group: gvr.group, kind }) !== undefined) return false
  return (await columns.columnsFor(gvr, kind)) === defaultColumns
}

function readOptions(
  { clock }: LiveServices,
  { request }: ProxyRequest,
  tables: boolean,
  representation: Representation,
): LiveReadOptions {
  const version = representation.as === 'table' ? representation.version : 'v1'
  const table = `application/json;as=Table;v=${version};g=meta.k8s.io,application/json`
  return { clock, signal: request.signal, accept: tables ? table : 'application/json' }
}

async function sendTables(
  request: ProxyRequest,
  tables: readonly MemberTable[],
  listMeta: ListMetadata,
  headers: ReturnType<typeof freshnessHeaders>,
  objectVersion?: string,
): Promise<void> {
  const representation = negotiate(request.request.incoming.headers.accept, 'list')
  const apiVersion = representation.as === 'table' ? representation.version : 'v1'
  const json = joinTables(tables, {
    apiVersion,
    listMeta,
    ...(objectVersion === undefined ? {} : { objectVersion }),
    clusterColumn: wantsClusterColumn(request.request),
  })
  const bytes = representation.format === 'json' ? json : Buffer.from(jsonToYaml(json))
  await sendBytes(request, { headers: { 'content-type': `application/${representation.format}`, ...headers } }, bytes)
}

interface Shown extends LiveSortedList {
  /** Of each cluster that answered, in their order, where it made one. */
  readonly tables?: readonly (MemberTable | undefined)[]
}

function unsorted({ pages, ...list }: LiveList): Shown {
  return {
    ...list,
    clusters: pages.map(({ cluster }) => cluster),
    objects: pages.flatMap(({ objects }) => objects),
    tables: pages.map(({ table }) => table),
    remaining: undefined,
  }
}

function sequence(objects: readonly CanonicalObject[]): { length: number; bytesAt(i: number): Uint8Array } {
  return { length: objects.length, bytesAt: (i) => (objects[i] as CanonicalObject).bytes }
}

function tableOptions({ clock }: LiveServices, { request }: ProxyRequest): Parameters<typeof sendList>[3] {
  return { includeObject: parseIncludeObject(request.query), nowMs: clock.nowMs() }
}

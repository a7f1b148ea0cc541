/**
 * Whose request is it: the one cluster that a write, a subresource or a session goes to. Used by everything that forwards.
 *
 * Rules: a chosen cluster takes everything, its own API server says what is there and what the caller may do. Otherwise the
 * object decides: in one cluster → that one; in none → 404; in several → 409 with their names. What is about no single object
 * needs a chosen cluster (405). Of clusters that would refuse the caller nothing is told, not even that the object exists.
 *
 * The cache finds the owner. Where it knows none or several, and for clusters that it has not listed yet, the members
 * themselves are asked before anything is refused or sent, for the cache may be a moment behind.
 */
import type { CacheReader, CachedObject, ResourceReader, ShardState } from '../../cache/reader.ts'
import type { FleetReader } from '../../fleet/fleet.ts'
import type { Member } from '../../fleet/member.ts'
import type { Admission } from '../../http/admission.ts'
import { refusalOf } from '../../http/admission.ts'
import type { Rights } from '../../http/rights.ts'
import { methodNotAllowed, pathNotFound } from '../../http/status-response.ts'
import type { ClusterName } from '../../kube/names.ts'
import type { ResourcePath } from '../../kube/resource-path.ts'
import { notFound, StatusError } from '../../kube/status-error.ts'
import type { Clock } from '../../util/clock.ts'
import { accessTo } from '../access.ts'
import type { MemberFault } from '../live/member-fault.ts'
import { ambiguous, objectPath, ownersOf } from '../owners.ts'
import type { ProxyRequest } from '../plugin.ts'
import { holdersOf } from './holders.ts'

export interface RouteSources {
  readonly fleet: Pick<FleetReader, 'member'>
  readonly cache: Pick<CacheReader, 'resource'>
  readonly clock: Clock
  /** Undefined: everybody may know which cluster has which object. */
  readonly rights?: { readonly rights: Rights } | undefined
}

export interface OwnerRoute {
  readonly cluster: ClusterName
  readonly member: Member
  /** Of a registered resource. */
  readonly reader: ResourceReader | undefined
  /** The object the request is about, as the cache last saw it there; undefined where it has none. */
  readonly object: CachedObject | undefined
}

/**
 * Rejects with `notFound`, `conflict`, `methodNotAllowed`, `forbidden` or `serviceUnavailable`, as above. Of a resource that is
 * not registered, without a chosen cluster: `pathNotFound`.
 */
export async function routeToOwner(sources: RouteSources, request: ProxyRequest): Promise<OwnerRoute> {
  const { resource: path, cluster, verb } = request
  const reader = path === undefined ? undefined : sources.cache.resource(path)
  if (cluster !== undefined) return toChosen(sources, cluster, path, reader)
  if (path === undefined || reader === undefined) throw pathNotFound()
  if (path.namespace !== undefined && !reader.namespaced) throw pathNotFound()
  if (verb === 'options') throw methodNotAllowed(path, verb)
  if (path.name === undefined) throw needsCluster(path, verb)
  const access = await accessTo(sources.rights?.rights, request, path, reader)
  const object = objectPath(path)
  const owner = await findOwner(sources, request, object, access)
  return toChosen(sources, owner, object, reader)
}

function toChosen(
  { fleet }: RouteSources,
  cluster: ClusterName,
  path: ResourcePath | undefined,
  reader: ResourceReader | undefined,
): OwnerRoute {
  const member = fleet.member(cluster)
  if (member === undefined) throw new StatusError('serviceUnavailable', `cluster ${cluster} has left`)
  const { namespace = '', name } = path ?? {}
  const object = name === undefined ? undefined : reader?.get(cluster, namespace, name)
  return { cluster, member, reader, object }
}

/** 405: it is about no single object, so that nothing says which cluster is meant. */
export function needsCluster(path: ResourcePath, verb: string): StatusError {
  const { message, details } = methodNotAllowed(path, verb)
  return new StatusError('methodNotAllowed', `${message} for many clusters at once: ${CHOOSE}`, {
    details: details ?? {},
  })
}

const CHOOSE =
  'choose one cluster by the path proxying/cluster.<NAME>/proxy/... (kubectl --server) or the header Fleetsearch-Cluster'

interface Found {
  readonly reader: ResourceReader
  readonly admission: Admission | undefined
}

async function findOwner(
  sources: RouteSources,
  request: ProxyRequest,
  path: ResourcePath,
  { reader, admission }: Found,
): Promise<ClusterName> {
  const shards = reader.shards().filter((shard) => covers(shard, path))
  const cached = ownersOf(reader, path, undefined).map(({ cluster }) => cluster)
  const unsure = shards.filter(({ synced }) => !synced).map(({ cluster }) => cluster)
  const [only] = cached
  if (only !== undefined && cached.length === 1 && unsure.length === 0) return only
  const asked = cached.length === 1 ? unsure : cached.length > 1 ? [...cached, ...unsure] : shards.map((s) => s.cluster)
  const { holders, faults } = await holdersOf(sources, request, path, reader, asked)
  const silent = faults.map(({ cluster }) => cluster)
  // Who does not answer counts as the cache has it.
  const owners = new Set([
    ...holders,
    ...cached.filter((cluster) => !asked.includes(cluster) || silent.includes(cluster)),
  ])
  const [owner] = owners
  if (owners.size > 1)
    throw ambiguous(
      path,
      [...owners].sort().map((cluster) => ({ cluster })),
    )
  if (owner !== undefined) return owner
  if (admission !== undefined && admission.refused.length > 0) throw refusalOf(admission)
  const unknown = faults.filter(({ cluster }) => unsure.includes(cluster))
  throw unknown.length > 0 ? cannotTell(unknown) : notFound(path, path.name ?? '')
}

/** A registered namespace of that cluster, or none is left out. */
function covers({ namespaces }: ShardState, { namespace }: ResourcePath): boolean {
  return namespaces === undefined || namespace === undefined || namespaces.has(namespace)
}

/** An object must not seem to be gone because a cluster that may have it does not answer. */
function cannotTell(faults: readonly MemberFault[]): StatusError {
  const reasons = faults.slice(0, 8).map(({ cluster, message }) => `${cluster}: ${message}`)
  return new StatusError('serviceUnavailable', `it cannot be told which cluster has it: ${reasons.join('; ')}`, {
    details: { retryAfterSeconds: 1 },
  })
}

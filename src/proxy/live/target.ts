/** Who is asked when a resource is read from the members themselves. */
import type { ResourceReader } from '../../cache/reader.ts'
import type { FleetReader } from '../../fleet/fleet.ts'
import type { Member } from '../../fleet/member.ts'
import type { ClusterFreshness } from '../../http/freshness.ts'
import type { GroupVersionResource } from '../../kube/group-version.ts'
import type { ClusterName } from '../../kube/names.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { MemberDiscovery } from '../ports.ts'
import type { MemberFault } from './member-fault.ts'

export interface LiveSources {
  readonly fleet: FleetReader
  readonly discovery: MemberDiscovery
}

export interface LiveTarget {
  readonly gvr: GroupVersionResource
  readonly kind: string
  readonly namespaced: boolean
  /** In name order. */
  readonly members: readonly Member[]
  /** Clusters that cannot be asked, for the answer's headers. */
  readonly absent: readonly ClusterFreshness[]
  /** Clusters that serve it and would refuse the caller: they are not asked, and count as if they had said so. */
  readonly refused: readonly MemberFault[]
  /** Namespaces that may be shown of a cluster; undefined: all. */
  namespaces(cluster: ClusterName): ReadonlySet<string> | undefined
}

/**
 * The members that serve a resource. undefined where none does. Throws `serviceUnavailable` while no member has been
 * heard at all. With `registered`, only its clusters and namespaces: what nobody registered is not shown by this way.
 */
export function findLiveTarget(
  { fleet, discovery }: LiveSources,
  { group, version, resource }: GroupVersionResource,
  cluster: ClusterName | undefined,
  registered?: Pick<ResourceReader, 'shards'>,
): LiveTarget | undefined {
  const shards = registered === undefined ? undefined : new Map(registered.shards().map((s) => [s.cluster, s]))
  const candidates = fleet
    .members()
    .filter(({ facts: { name } }) => (cluster === undefined || name === cluster) && (shards?.has(name) ?? true))
  const members: Member[] = []
  const absent: ClusterFreshness[] = []
  let served: { readonly kind: string; readonly namespaced: boolean } | undefined
  for (const member of candidates) {
    const { name, unreachable } = member.facts
    const resources = discovery.resources(name)
    const found = resources?.find((r) => r.resource === resource && r.group === group && r.version === version)
    served ??= found
    if (resources === undefined || (found !== undefined && unreachable !== undefined)) {
      absent.push({ cluster: name, state: 'missing', reason: unreachable ?? 'not heard yet' })
    } else if (found !== undefined) members.push(member)
  }
  if (served === undefined) {
    if (candidates.length > 0 && absent.length === candidates.length) throw nobodyHeard()
    return undefined
  }
  const { kind, namespaced } = served
  const namespaces = (name: ClusterName): ReadonlySet<string> | undefined => shards?.get(name)?.namespaces
  return { gvr: { group, version, resource }, kind, namespaced, members, absent, refused: [], namespaces }
}

/** 503: what the members serve is not known yet. */
export function nobodyHeard(): StatusError {
  return new StatusError('serviceUnavailable', 'no member cluster has been heard yet', {
    details: { retryAfterSeconds: 1 },
  })
}

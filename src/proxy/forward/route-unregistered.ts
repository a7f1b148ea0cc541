/** Where a request for a resource that nobody registered goes, where there is no control plane to send it to. */
import type { FleetReader } from '../../fleet/fleet.ts'
import { StatusError, notFound } from '../../kube/status-error.ts'
import { pathNotFound } from '../../http/status-response.ts'
import type { Clock } from '../../util/clock.ts'
import { findLiveTarget } from '../live/target.ts'
import { unanswered } from '../live/member-fault.ts'
import { ambiguous, objectPath } from '../owners.ts'
import type { ProxyRequest } from '../plugin.ts'
import type { MemberDiscovery } from '../ports.ts'
import { holdersOf } from './holders.ts'
import { needsCluster, type OwnerRoute } from './route.ts'

export interface UnregisteredSources {
  readonly fleet: FleetReader
  readonly discovery: MemberDiscovery
  readonly clock: Clock
}

/** The chosen cluster; without one, that member of those which serve the resource that has the object now. */
export async function routeUnregistered(sources: UnregisteredSources, request: ProxyRequest): Promise<OwnerRoute> {
  const { resource, cluster } = request
  if (cluster !== undefined) return routeOf(sources, cluster)
  const path = resource && objectPath(resource)
  const target = path === undefined ? undefined : findLiveTarget(sources, path, undefined)
  if (path === undefined || target === undefined) throw pathNotFound()
  if (path.name === undefined) throw needsCluster(path, request.verb)
  const asked = target.members.map(({ facts }) => facts.name)
  const { holders, faults } = await holdersOf(sources, request, path, target, asked)
  const [owner] = holders
  if (holders.length > 1)
    throw ambiguous(
      path,
      holders.map((holder) => ({ cluster: holder })),
    )
  if (owner !== undefined) return routeOf(sources, owner)
  throw faults.length > 0 || target.absent.length > 0 ? unanswered(faults, target.absent) : notFound(path, path.name)
}

function routeOf({ fleet }: UnregisteredSources, cluster: OwnerRoute['cluster']): OwnerRoute {
  const member = fleet.member(cluster)
  if (member === undefined) throw new StatusError('serviceUnavailable', `cluster ${cluster} has left`)
  return { cluster, member, reader: undefined, object: undefined }
}

/** Asks members, with the service's own credentials and for metadata alone, whether they have an object now. */
import type { FleetReader } from '../../fleet/fleet.ts'
import type { GroupVersionResource } from '../../kube/group-version.ts'
import { resourcePath } from '../../kube/group-version.ts'
import type { ClusterName } from '../../kube/names.ts'
import type { ResourcePath } from '../../kube/resource-path.ts'
import type { Clock } from '../../util/clock.ts'
import { withDeadline } from '../../http/deadline.ts'
import { faultOfError, faultOfResponse, MemberFault } from '../live/member-fault.ts'
import { mapParallel, PARALLEL_MEMBERS } from '../live/parallel.ts'
import type { ProxyRequest } from '../plugin.ts'

/** A write waits no longer to learn whom it is for; a member answers one in milliseconds. */
const ANSWER_MS = 5_000
const MAX_METADATA_BYTES = 2 * 1024 * 1024
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'

export interface Holders {
  readonly holders: readonly ClusterName[]
  /** Of those that could not tell. */
  readonly faults: readonly MemberFault[]
}

export async function holdersOf(
  sources: { readonly fleet: Pick<FleetReader, 'member'>; readonly clock: Clock },
  { request }: ProxyRequest,
  { namespace, name }: Pick<ResourcePath, 'namespace' | 'name'>,
  { gvr }: { readonly gvr: GroupVersionResource },
  clusters: readonly ClusterName[],
): Promise<Holders> {
  const path = resourcePath(gvr, namespace, name)
  const deadline = withDeadline(ANSWER_MS, sources.clock, request.signal)
  try {
    const answers = await mapParallel(clusters, PARALLEL_MEMBERS, (cluster) =>
      holds(sources.fleet, cluster, path, deadline.signal),
    )
    request.signal.throwIfAborted()
    return {
      holders: clusters.filter((_, i) => answers[i] === true),
      faults: answers.filter((answer) => answer instanceof MemberFault),
    }
  } finally {
    deadline.dispose()
  }
}

async function holds(
  fleet: Pick<FleetReader, 'member'>,
  cluster: ClusterName,
  path: string,
  signal: AbortSignal,
): Promise<boolean | MemberFault> {
  const member = fleet.member(cluster)
  if (member === undefined) return false
  try {
    const answer = await member.client.request({ method: 'GET', path, headers: { accept: METADATA }, signal })
    if (answer.status !== 200 && answer.status !== 404) return await faultOfResponse(cluster, answer)
    await answer.bytes(MAX_METADATA_BYTES)
    return answer.status === 200
  } catch (error) {
    if (signal.aborted) return new MemberFault(cluster, undefined, 'it did not answer in time')
    return faultOfError(cluster, error)
  }
}

/** Whether a watch can go on behind the versions it names: ready, not yet, or never. */
import type { VersionMap } from '../kube/multi-cluster-version.ts'
import type { ClusterName, ResourceVersion } from '../kube/names.ts'
import type { Shard } from './shard.ts'

/** The version of a cluster whose objects have been given in part. No member counts from here. */
export const PARTIAL = '0' as ResourceVersion

export type Standing =
  | { readonly state: 'ready' }
  /** A shard has not been listed yet, or has not got to the version that the client has seen. */
  | { readonly state: 'ahead'; readonly cluster: ClusterName }
  | { readonly state: 'expired'; readonly message: string }

/** The worst of all clusters' standings that are in scope. */
export function standingOf(
  from: VersionMap,
  inScope: (cluster: ClusterName) => boolean,
  shardOf: (cluster: ClusterName) => Shard | undefined,
): Standing {
  let result: Standing = { state: 'ready' }
  for (const [cluster, version] of from) {
    if (!inScope(cluster)) continue
    const standing = standingIn(cluster, version, shardOf(cluster))
    if (standing.state === 'expired') return standing
    if (standing.state === 'ahead') result = standing
  }
  return result
}

function standingIn(cluster: ClusterName, version: ResourceVersion, shard: Shard | undefined): Standing {
  if (shard === undefined) return expired(`cluster ${cluster} is not part of the fleet any more`)
  if (version === PARTIAL) return expired(`the objects of cluster ${cluster} were not all delivered`)
  const point = shard.synced ? shard.history.resume(version, shard.version, 0) : 'ahead'
  if (point === 'ahead') return { state: 'ahead', cluster }
  if (point === 'expired') return expired(`${version} of cluster ${cluster} (${shard.version})`)
  return { state: 'ready' }
}

function expired(why: string): Standing {
  return { state: 'expired', message: `too old resource version: ${why}` }
}

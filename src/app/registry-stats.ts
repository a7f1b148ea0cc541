/** What is cached for a registry: for the Tables of ResourceRegistries, and for their status. */
import type { RegistryStats, RegistryStatsSource } from '../apiserver/resource-registries.ts'
import type { CacheReader, ShardState } from '../cache/reader.ts'
import type { Controller } from '../controller/controller.ts'
import type { PlannedShard } from '../controller/plan.ts'
import { gvrKey } from '../kube/group-version.ts'

export function registryStats(
  controller: Pick<Controller, 'plan'>,
  cache: Pick<CacheReader, 'resource'>,
): RegistryStatsSource {
  return (name): RegistryStats | undefined => {
    const { plan } = controller
    const clusters = plan.targets.get(name)
    if (clusters === undefined) return undefined
    const cached = cachedShards(cache)
    const resources = new Set<string>()
    let objects = 0
    for (const { cluster, gvr, registries } of plan.shards) {
      if (!registries.includes(name)) continue
      resources.add(gvrKey(gvr))
      objects += cached({ cluster, gvr })?.objects ?? 0
    }
    return { clusters: clusters.length, resources: resources.size, objects }
  }
}

/** The state of one resource of one cluster, as it is now; undefined where it is not cached. To be used within one turn. */
export function cachedShards(
  cache: Pick<CacheReader, 'resource'>,
): (shard: Pick<PlannedShard, 'cluster' | 'gvr'>) => ShardState | undefined {
  const resources = new Map<string, ReadonlyMap<string, ShardState>>()
  return ({ cluster, gvr }) => {
    const key = gvrKey(gvr)
    let clusters = resources.get(key)
    if (clusters === undefined) {
      clusters = new Map(
        cache
          .resource(gvr)
          ?.shards()
          .map((shard) => [shard.cluster, shard]),
      )
      resources.set(key, clusters)
    }
    return clusters.get(cluster)
  }
}

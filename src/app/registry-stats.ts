/** What Tables of ResourceRegistries show of each: the clusters it matches, and what is cached for it. */
import type { RegistryStats, RegistryStatsSource } from '../apiserver/resource-registries.ts'
import type { CacheReader } from '../cache/reader.ts'
import type { Controller } from '../controller/controller.ts'
import { gvrKey } from '../kube/group-version.ts'

export function registryStats(
  controller: Pick<Controller, 'plan'>,
  cache: Pick<CacheReader, 'resource'>,
): RegistryStatsSource {
  return (name): RegistryStats | undefined => {
    const { plan } = controller
    const clusters = plan.targets.get(name)
    if (clusters === undefined) return undefined
    const resources = new Set<string>()
    let objects = 0
    for (const { cluster, gvr, registries } of plan.shards) {
      if (!registries.includes(name)) continue
      resources.add(gvrKey(gvr))
      objects +=
        cache
          .resource(gvr)
          ?.shards()
          .find((shard) => shard.cluster === cluster)?.objects ?? 0
    }
    return { clusters: clusters.length, resources: resources.size, objects }
  }
}

/** The cache's metrics. Gauges are read when they are scraped. */
import { gvrKey } from '../kube/group-version.ts'
import { Counter, Gauge, type Registry } from '../telemetry/metrics.ts'
import { leftOutOf } from '../informer/reflector-store.ts'
import type { Resource } from './resource.ts'

export class CacheMetrics {
  readonly #events: Counter<'resource' | 'type'>
  readonly #expired: Counter<'resource'>

  constructor(registry: Registry, resources: () => Iterable<Resource>) {
    const registers = [registry]
    this.#events = new Counter({
      name: 'fleetsearch_cache_events_total',
      help: 'Changes of cached objects that watchers were told of.',
      labelNames: ['resource', 'type'],
      registers,
    })
    this.#expired = new Counter({
      name: 'fleetsearch_cache_watches_expired_total',
      help: 'Watches that were cut: fell behind the window, or a cluster or the resource left.',
      labelNames: ['resource'],
      registers,
    })
    this.#shardGauges(registers, resources)
    const gauge = (name: string, help: string, value: (resource: Resource) => number): void => {
      new Gauge({
        name,
        help,
        labelNames: ['resource'],
        registers,
        collect() {
          this.reset()
          for (const resource of resources()) this.set({ resource: gvrKey(resource.gvr) }, value(resource))
        },
      })
    }
    gauge('fleetsearch_cache_object_bytes', 'Canonical bytes of the cached objects.', (resource) =>
      sum(resource, (shard) => shard.content.objectBytes),
    )
    gauge('fleetsearch_cache_memory_bytes', 'Memory of the cached objects with their indexes.', (resource) =>
      sum(resource, (shard) => shard.content.capacityBytes),
    )
    gauge('fleetsearch_cache_window_bytes', 'Bytes that the watch window holds.', ({ window }) => window.bytes)
    gauge('fleetsearch_cache_window_entries', 'Entries of the watch window.', ({ window }) => window.length)
    gauge(
      'fleetsearch_cache_past_changes',
      'Changes kept undone for lists that are read page by page.',
      ({ past }) => past.changes,
    )
    gauge(
      'fleetsearch_cache_shards_beyond_bound',
      'Clusters whose objects of the resource are not cached, or no longer: there are more than is allowed.',
      (resource) =>
        sum(resource, ({ reflector }) => (reflector.phase === 'failing' && reflector.code === 'tooMany' ? 1 : 0)),
    )
    gauge(
      'fleetsearch_cache_objects_left_out',
      'Objects that could not be read since their last list, and are missing.',
      (resource) => sum(resource, ({ reflector }) => leftOutOf(reflector)),
    )
    gauge('fleetsearch_cache_watchers', 'Open watches.', ({ watchers }) => watchers)
  }

  count(resource: Resource, what: 'ADDED' | 'MODIFIED' | 'DELETED' | 'EXPIRED'): void {
    const name = gvrKey(resource.gvr)
    if (what === 'EXPIRED') this.#expired.inc({ resource: name })
    else this.#events.inc({ resource: name, type: what })
  }

  #shardGauges(registers: Registry[], resources: () => Iterable<Resource>): void {
    const gauge = (
      name: string,
      help: string,
      value: (shard: ReturnType<Resource['shards']>[number]) => number,
    ): void => {
      new Gauge({
        name,
        help,
        labelNames: ['cluster', 'resource'],
        registers,
        collect() {
          this.reset()
          for (const resource of resources()) {
            for (const shard of resource.shards()) {
              this.set({ cluster: shard.cluster, resource: gvrKey(resource.gvr) }, value(shard))
            }
          }
        },
      })
    }
    gauge('fleetsearch_cache_objects', 'Cached objects.', ({ objects }) => objects)
    gauge('fleetsearch_cache_synced', '1 where the cluster has been listed.', ({ synced }) => (synced ? 1 : 0))
  }
}

function sum(resource: Resource, value: (shard: ReturnType<Resource['allShards']>[number]) => number): number {
  return resource.allShards().reduce((total, shard) => total + value(shard), 0)
}

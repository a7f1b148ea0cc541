/**
 * What every command runs: the fleet, the registries, informers that keep the cache current, the embedded store, and the
 * handlers that answer from them. Commands differ in who the members are, who may ask, and where it listens.
 */
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { SEARCH_GROUP_VERSION } from '../api/resource-registry.ts'
import type { Route } from '../apiserver/create-listener.ts'
import type { HealthCheck } from '../apiserver/health.ts'
import { createResourceRegistriesHandler } from '../apiserver/resource-registries.ts'
import { SqliteStore } from '../backendstore/sqlite/store.ts'
import { Cache } from '../cache/cache.ts'
import { Controller } from '../controller/controller.ts'
import { DiscoveryTracker } from '../controller/discovery-tracker.ts'
import { httpReflectorRunner } from '../controller/http-reflector-runner.ts'
import { ReflectorMetrics } from '../controller/reflector-metrics.ts'
import { Fleet } from '../fleet/fleet.ts'
import { createColumnSource, type ColumnSource } from '../http/column-source.ts'
import { createProxyHandler } from '../proxy/framework.ts'
import type { Plugin } from '../proxy/plugin.ts'
import type { MemberDiscovery } from '../proxy/ports.ts'
import { createCachePlugin } from '../proxy/plugins/cache.ts'
import { createClusterPlugin } from '../proxy/plugins/cluster.ts'
import { createLivePlugin } from '../proxy/plugins/live.ts'
import { RegistryInformer } from '../registry/registry-informer.ts'
import { ResourceRegistries } from '../registry/resource-registries.ts'
import { SqliteRegistryStore } from '../registry/sqlite/registry-store.ts'
import { createSearchCacheHandler } from '../search/cache-handler.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createMetricsRegistry, type Registry } from '../telemetry/metrics.ts'
import { addProcessMetrics } from '../telemetry/process-metrics.ts'
import type { Clock, Random } from '../util/clock.ts'
import { crdLookups } from './crd-lookups.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { CommonConfig } from './options/config.ts'
import { readyClusters } from './ready-clusters.ts'
import { registryStats } from './registry-stats.ts'
import { SyncCheck } from './sync-check.ts'

export interface Runtime {
  readonly log: Logger
  readonly clock: Clock
  readonly random: Random
  /** What the user reads on standard output. */
  readonly print: (text: string) => void
}

export interface ServiceOptions {
  readonly config: CommonConfig
  readonly runtime: Runtime
  readonly lifecycle: Lifecycle
  /** Folder of registries and store. */
  readonly folder: string
  /** `search/…` and `proxying/…` are served. */
  readonly search: boolean
  readonly proxy: boolean
  /** The last plugin of the proxy: what nobody registered. */
  readonly lastPlugin: (parts: PluginParts) => Plugin
  /** Something of ours broke that nobody waits for: the process should end. */
  readonly onFault: (error: unknown) => void
}

export interface PluginParts {
  readonly fleet: Fleet
  readonly cache: Cache
  readonly discovery: MemberDiscovery
  readonly columns: ColumnSource
}

export interface Service {
  readonly fleet: Fleet
  readonly registries: ResourceRegistries
  readonly discovery: DiscoveryTracker
  readonly metrics: Registry
  readonly routes: readonly Route[]
  readonly checks: readonly HealthCheck[]
  /** Begins to follow registries and members. */
  start(): void
  /** Readiness ends; called before the server drains. */
  notReady(): void
}

/** Rejects where the folder cannot be used. */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { config, runtime, lifecycle, folder, onFault } = options
  const { log, clock, random } = runtime
  const metrics = createMetricsRegistry()
  addProcessMetrics(metrics)
  const fleet = new Fleet((err) => {
    log.warn({ err }, 'a member’s connections did not close')
  })
  const cache = new Cache({ clock, windowBytes: config.watchWindowBytes, metrics })
  const discovery = new DiscoveryTracker({ fleet, clock, random, logger: log })
  const registryStore = new SqliteRegistryStore({
    path: path.join(folder, 'registries.db'),
    nowMs: () => clock.nowMs(),
  })
  lifecycle.onStop('registry store', () => registryStore.close())
  const registries = new ResourceRegistries({ store: registryStore, clock, random, newUid: randomUUID })
  const informer = new RegistryInformer({ store: registries, clock, random, logger: log })
  const controller = new Controller({
    registries: informer,
    fleet: config.staleClusters === 'drop' ? readyClusters(fleet) : fleet,
    discovery,
    cache,
    run: httpReflectorRunner({ clock, random, logger: log, metrics: new ReflectorMetrics(metrics) }),
    clock,
    logger: log,
  })
  const store = await SqliteStore.open({ file: path.join(folder, 'search.db') })
  lifecycle.onStop('search store', () => store.close())
  const columns = createColumnSource(crdLookups(cache, fleet, discovery, () => clock.monotonicMs()))
  const sync = new SyncCheck(controller, clock, config.syncTimeoutMs)
  const parts: PluginParts = { fleet, cache, discovery: memberDiscovery(fleet, discovery), columns }
  const registriesRoute: Route = {
    prefix: `/apis/${SEARCH_GROUP_VERSION}/resourceregistries`,
    handler: createResourceRegistriesHandler({ registries, clock, random, stats: registryStats(controller, cache) }),
  }
  return {
    fleet,
    registries,
    discovery,
    metrics,
    routes: [registriesRoute, ...routesOf(options, parts, discovery)],
    checks: [sync],
    start() {
      sync.start()
      lifecycle.run('controller', (signal) => controller.run(signal), onFault)
      lifecycle.run('discovery', (signal) => discovery.run(signal), onFault)
      lifecycle.run('registry informer', (signal) => informer.run(signal), onFault)
    },
    notReady() {
      sync.stop()
    },
  }
}

function memberDiscovery(fleet: Fleet, discovery: DiscoveryTracker): MemberDiscovery {
  return {
    resources(cluster) {
      const member = fleet.member(cluster)
      return member === undefined ? undefined : discovery.resources(member.facts)
    },
  }
}

function routesOf(
  { search, proxy, lastPlugin, runtime }: ServiceOptions,
  parts: PluginParts,
  discovery: DiscoveryTracker,
): Route[] {
  const { fleet, cache, columns } = parts
  const { clock, random } = runtime
  const base = `/apis/${SEARCH_GROUP_VERSION}`
  const routes: Route[] = []
  if (search) {
    const known = discovery.known
    const clusters = { names: () => fleet.members().map(({ facts }) => facts.name) }
    const handler = createSearchCacheHandler({ cache, known, clusters, columns, clock })
    routes.push({ prefix: `${base}/search/cache`, handler, errorField: true })
  }
  if (proxy) {
    const plugins = [
      createCachePlugin({ cache, columns, clock, random }),
      createLivePlugin({ ...parts, clock, random }),
      createClusterPlugin({ cache }),
      lastPlugin(parts),
    ]
    routes.push({ prefix: `${base}/proxying`, handler: createProxyHandler({ plugins, fleet }) })
  }
  return routes
}

/**
 * What every command runs: the fleet, the registries, informers that keep the cache current, the embedded store, and the
 * handlers that answer from them. Commands differ in who the members are, who may ask, and where it listens.
 */
import { randomUUID } from 'node:crypto'
import type { Route } from '../apiserver/route.ts'
import type { HealthCheck } from '../apiserver/health.ts'
import { StoreMetrics } from '../backendstore/bulk-metrics.ts'
import { addMemoMetrics } from '../backendstore/memo-metrics.ts'
import { columnBytesGauge } from '../backendstore/sqlite/column-metrics.ts'
import { createWriteServices } from '../proxy/write/write.ts'
import type { OpenEngineStore } from '../backendstore/engine-store.ts'
import type { ReopeningStore } from '../backendstore/reopening-store.ts'
import { openEngineStore } from '../backendstore/search-engine/open-engine-store.ts'
import { Cache } from '../cache/cache.ts'
import { Controller } from '../controller/controller.ts'
import { DiscoveryTracker } from '../controller/discovery-tracker.ts'
import { httpReflectorRunner } from '../controller/http-reflector-runner.ts'
import { RegistryStatusWriter } from '../controller/registry-status-writer.ts'
import { ReflectorMetrics } from '../controller/reflector-metrics.ts'
import { Fleet } from '../fleet/fleet.ts'
import { createColumnSource } from '../http/column-source.ts'
import type { Rights } from '../http/rights.ts'
import { ALWAYS_LEADING, whileLeading } from '../leaderelection/leadership.ts'
import { Streams } from '../proxy/streams/streams.ts'
import { WatchGuards } from '../proxy/watch/watch-guards.ts'
import { RegistryInformer } from '../registry/registry-informer.ts'
import type { RegistryStore } from '../registry/registry-store.ts'
import { ResourceRegistries } from '../registry/resource-registries.ts'
import { createMetricsRegistry, type Registry } from '../telemetry/metrics.ts'
import { addProcessMetrics } from '../telemetry/process-metrics.ts'
import type { Clock } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import { crdLookups } from './crd-lookups.ts'
import { etcdChecks } from './etcd-check.ts'
import { IndexCheck } from './index-check.ts'
import { folderInstallation, type Installation } from './installation.ts'
import type { FollowedLeadership } from './leadership.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { CommonConfig } from './options/config.ts'
import type { EtcdConfig } from './options/etcd-config.ts'
import { readyClusters } from './ready-clusters.ts'
import { cachedShards, registryStats } from './registry-stats.ts'
import { openRegistryStore, type RegistryStoreOptions } from './registry-store.ts'
import { LiveBudget } from '../proxy/live/live-budget.ts'
import { createPlugins } from './proxy-plugins.ts'
import { memberDiscovery, routesOf, type PluginParts, type RouteOptions } from './routes.ts'
import { openOwnIndex } from './own-index.ts'
import type { OpenPeers } from './peers.ts'
import { mirrorSource, ownSource } from './search-source.ts'
import { openDeadLetters } from './search-store.ts'
import { StoreMirrors, type SecretsSource } from './store-mirrors.ts'
import { SyncCheck } from './sync-check.ts'
import { openTracing } from './tracing.ts'

export interface ServiceOptions extends RegistryStoreOptions, RouteOptions {
  readonly config: CommonConfig
  readonly lifecycle: Lifecycle
  /** Decides what callers see of each member; default: everybody sees everything. */
  readonly rights?: ((parts: Pick<Service, 'fleet' | 'metrics'>) => FollowedRights) | undefined
  /** Decides whether this replica does what only one may do; default: it is the only one. */
  readonly leadership?: (parts: Pick<Service, 'metrics'>) => FollowedLeadership
  /** Other replicas that read and write the same clusters; default: none. */
  readonly peers?: ((parts: Pick<Service, 'metrics'>) => Promise<OpenPeers>) | undefined
  /** Opens the search engines that registries name; default: as they are. */
  readonly openEngine?: OpenEngineStore
  /** Names this installation in search engines, where no flag does; default: what the folder keeps. */
  readonly installation?: Installation
  /** Where the Secrets are that registries name; default: nowhere. */
  readonly secrets?: SecretsSource
  /** Something of ours broke that nobody waits for: the process should end. */
  readonly onFault: (error: unknown) => void
}

/** Rights that are followed as long as the service runs. */
export interface FollowedRights extends Rights {
  run?(signal: AbortSignal): Promise<void>
}

export interface Service {
  readonly fleet: Fleet
  readonly registries: ResourceRegistries
  readonly discovery: DiscoveryTracker
  /** Of this replica alone; undefined: it has none (`--search-store`). */
  readonly store: ReopeningStore | undefined
  readonly metrics: Registry
  readonly routes: readonly Route[]
  readonly checks: readonly HealthCheck[]
  /** Begins to follow registries and members; `fleetSynced` tells whether who the members are is known. */
  start(fleetSynced: () => boolean): void
  /** Resolves when the first sync is over and searchable, or when `limitMs` have passed. */
  settled(limitMs: number): Promise<void>
  /** Its port is ours; to be called when it listens. */
  serving(): void
  /** Readiness ends; called before the server drains. */
  notReady(): void
}

/** Rejects where the folder cannot be used. */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { config, runtime, lifecycle, folder, onFault } = options
  const { log, clock, random } = runtime
  const metrics = createMetricsRegistry()
  addProcessMetrics(metrics)
  addMemoMetrics(metrics)
  await openTracing(config.tracing, metrics, runtime, lifecycle)
  const fleet = new Fleet((err) => {
    log.warn({ err }, 'a member’s connections did not close')
  })
  const cache = new Cache({
    clock,
    windowBytes: config.watchWindowBytes,
    maxObjects: config.maxObjectsPerResource,
    metrics,
  })
  const discovery = new DiscoveryTracker({ fleet, clock, random, logger: log })
  const registryStore = openRegistryStore(options, runtime, metrics)
  lifecycle.onStop('registry store', () => registryStore.close())
  const registries = new ResourceRegistries({ store: registryStore, clock, random, newUid: randomUUID })
  const informer = new RegistryInformer({ store: registries, clock, random, logger: log })
  const controller = new Controller({
    registries: informer,
    fleet: config.staleClusters === 'drop' ? readyClusters(fleet) : fleet,
    discovery,
    cache,
    maxResources: config.maxResourcesPerCluster,
    run: httpReflectorRunner({ clock, random, logger: log, metrics: new ReflectorMetrics(metrics) }),
    clock,
    logger: log,
  })
  let whoIsThere = (): boolean => false
  const openEngine = options.openEngine ?? openEngineStore
  const { installationId, engine, searchStore = 'embedded' } = config
  const installation =
    installationId === undefined
      ? (options.installation ?? folderInstallation(folder))
      : () => Promise.resolve(installationId)
  const letters = openDeadLetters(folder, runtime, lifecycle)
  const known = (): boolean => informer.synced && whoIsThere()
  const mirroring = { cache, clock, random, logger: log, metrics: new StoreMetrics(metrics), letters, known }
  const onColumnBytes = searchStore === 'embedded' && engine === undefined ? columnBytesGauge(metrics) : () => undefined
  const opening = { folder, engine, installation, openEngine, onColumnBytes }
  const own = searchStore === 'embedded' ? await openOwnIndex(opening, mirroring, runtime, lifecycle) : undefined
  const columns = createColumnSource(crdLookups(cache, fleet, discovery, () => clock.monotonicMs()))
  const sync = new SyncCheck(controller, clock, config.syncTimeoutMs)
  const isSynced = (): boolean => sync.waitsFor() === undefined
  const indexed = (): Promise<void> => firstSync(controller, sync).then(() => source.caughtUp())
  const index = new IndexCheck(isSynced, clock, config.syncTimeoutMs)
  const rights = options.rights?.({ fleet, metrics })
  const leadership: FollowedLeadership = options.leadership?.({ metrics }) ?? ALWAYS_LEADING
  // Registries in a folder of its own no other replica sees.
  const statusDuty = options.etcd === undefined ? ALWAYS_LEADING : leadership
  const mirrors = new StoreMirrors({
    ...mirroring,
    controller,
    registries: informer,
    open: openEngine,
    installation,
    notes: registryStore,
    secrets: options.secrets,
    own: own === undefined ? undefined : { name: own.store.name, writer: own.writer },
    searched: searchStore === 'registry',
    whileLeading: (task, signal) => whileLeading(leadership, task, signal),
  })
  const source =
    own === undefined
      ? mirrorSource(searchStore === 'off' ? 'off' : 'registry', () => mirrors.searched())
      : ownSource(own)
  const status = new RegistryStatusWriter({
    controller,
    registries: informer,
    store: registries,
    cached: () => cachedShards(cache),
    backend: (registry) => mirrors.verdict(registry),
    clock,
    logger: log,
  })
  const guarded =
    rights === undefined ? undefined : { rights, guards: new WatchGuards({ rights, cache, clock, onFault }) }
  const peers = await options.peers?.({ metrics })
  const writes = createWriteServices({
    clock,
    cache,
    metrics,
    streams: new Streams({ limit: config.maxStreams, limitPerUser: config.maxStreamsPerUser, registry: metrics }),
    peers: peers?.peers,
  })
  const parts: PluginParts = {
    fleet,
    cache,
    discovery: memberDiscovery(fleet, discovery),
    columns,
    budget: new LiveBudget(undefined, metrics),
    rights: guarded,
    ...writes,
  }
  const plugins = await createPlugins(config.proxyPlugins, { fleet, cache, forwarder: writes.forwarder, log })
  return {
    fleet,
    registries,
    discovery,
    store: own?.store,
    metrics,
    routes: routesOf(options, parts, {
      plugins,
      registries: { registries, clock, random, stats: registryStats(controller, cache) },
      discovery,
      source,
      native: (kind) => (engine?.kind === kind ? own?.store.native : mirrors.first(kind)?.store.native),
      metrics,
      letters: {
        list: () => letters.list(),
        replay: (letter) => mirrors.writerOf(letter.store)?.replay(letter),
      },
      sync,
    }),
    checks: [
      sync,
      ...(options.search ? [index] : []),
      ...mediumChecks(options.etcd, registryStore, clock),
      ...(peers === undefined ? [] : [peers.check]),
    ],
    start(fleetSynced) {
      sync.start(fleetSynced)
      whoIsThere = fleetSynced
      lifecycle.run('registry store', async (signal) => registryStore.run?.(signal), onFault)
      if (rights?.run !== undefined)
        lifecycle.run('rights', (signal) => rights.run?.(signal) ?? Promise.resolve(), onFault)
      if (leadership.run !== undefined)
        lifecycle.run('leader election', (signal) => leadership.run?.(signal) ?? Promise.resolve(), onFault)
      if (own !== undefined) lifecycle.run('bulk writer', (signal) => own.writer.run(signal), onFault)
      lifecycle.run('store mirrors', (signal) => mirrors.run(signal), onFault)
      lifecycle.run('controller', (signal) => controller.run(signal), onFault)
      lifecycle.run(
        'registry status',
        (signal) => whileLeading(statusDuty, (term) => status.run(term), signal),
        onFault,
      )
      lifecycle.run('discovery', (signal) => discovery.run(signal), onFault)
      lifecycle.run('registry informer', (signal) => informer.run(signal), onFault)
      void indexed().then(() => index.caughtUp())
    },
    async settled(limitMs) {
      const late = new AbortController()
      const limit = sleep(limitMs, clock, late.signal).catch(() => undefined)
      await Promise.race([indexed(), limit])
      late.abort()
    },
    serving() {
      peers?.serving()
    },
    notReady() {
      sync.stop()
    },
  }
}

function mediumChecks(etcd: EtcdConfig | undefined, store: RegistryStore, clock: Clock): readonly HealthCheck[] {
  if (etcd === undefined || store.probe === undefined) return []
  return etcdChecks(etcd, (timeoutMs) => store.probe?.(timeoutMs) ?? Promise.resolve(), clock)
}

/** Resolves when it is ready for the first time. */
function firstSync(controller: Controller, sync: SyncCheck): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (sync.check().state !== 'ready') return
      unlisten()
      resolve()
    }
    const unlisten = controller.onChange(check)
    check()
  })
}

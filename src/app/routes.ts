/** Which handler answers which path, joined with what it reads from. */
import { SEARCH_GROUP_VERSION } from '../api/resource-registry.ts'
import type { Route } from '../apiserver/route.ts'
import {
  createResourceRegistriesHandler,
  type ResourceRegistriesHandlerOptions,
} from '../apiserver/resource-registries.ts'
import type { EngineKind } from '../backendstore/engine-store.ts'
import type { Cache } from '../cache/cache.ts'
import type { DiscoveryTracker } from '../controller/discovery-tracker.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { ColumnSource } from '../http/column-source.ts'
import type { FieldSource } from '../http/field-source.ts'
import type { Rights } from '../http/rights.ts'
import type { LiveBudget } from '../proxy/live/live-budget.ts'
import type { WriteServices } from '../proxy/write/write.ts'
import type { Plugin } from '../proxy/plugin.ts'
import type { WriteGuard } from '../proxy/write-guard.ts'
import { createProxyHandler } from '../proxy/framework.ts'
import { createCachePlugin } from '../proxy/plugins/cache.ts'
import { createClusterPlugin } from '../proxy/plugins/cluster.ts'
import { createLivePlugin } from '../proxy/plugins/live.ts'
import { createSchemaFields } from '../proxy/openapi/schema-fields.ts'
import type { WatchGuards } from '../proxy/watch/watch-guards.ts'
import type { MemberDiscovery } from '../proxy/ports.ts'
import { createSearchCacheHandler } from '../search/cache-handler.ts'
import { createDeadLettersHandler, type DeadLetterBox } from '../search/dead-letters-handler.ts'
import type { ControlPlane } from '../search/control-plane.ts'
import { searchEndpoints } from '../search/endpoints.ts'
import { createPassthroughHandler } from '../search/passthrough/handler.ts'
import { SearchUsage } from '../search/search-usage.ts'
import type { NativeSearch } from '../query/native-search.ts'
import type { Registry } from '../telemetry/metrics.ts'
import { whenSynced } from './first-sync-gate.ts'
import type { SearchSource } from './search-source.ts'
import type { Runtime } from './runtime.ts'
import type { SyncCheck } from './sync-check.ts'

export interface PluginParts extends WriteServices {
  readonly rights: { readonly rights: Rights; readonly guards: WatchGuards } | undefined
  readonly fleet: Fleet
  readonly cache: Cache
  readonly discovery: MemberDiscovery
  readonly columns: ColumnSource
  /** Of lists that are read live, whoever reads them. */
  readonly budget: LiveBudget
}

/** What the handlers of search and registries read besides `PluginParts`. */
export interface RouteParts extends SearchParts {
  /** Of others, for the proxy's chain. */
  readonly plugins: readonly Plugin[]
  readonly registries: ResourceRegistriesHandlerOptions
  /** Nothing but registries is answered before. */
  readonly sync: Pick<SyncCheck, 'waitsFor'>
  readonly discovery: DiscoveryTracker
}

/** What a command decides of its routes. */
export interface RouteOptions {
  readonly runtime: Runtime
  /** `search/…` and `proxying/…` are served. */
  readonly search: boolean
  readonly proxy: boolean
  /** Of a server that is read-only by itself; undefined: the clusters say who may change what. */
  readonly writeGuard?: WriteGuard | undefined
  /** The last plugin of the proxy: what nobody registered. */
  readonly lastPlugin: (parts: PluginParts & PluginFields) => Plugin
  /** Whose Karmada chain `search/related` shows; undefined: there is none but what is cached. */
  readonly controlPlane?: ControlPlane | undefined
}

export function routesOf(options: RouteOptions, parts: PluginParts, more: RouteParts): Route[] {
  const prefix = `/apis/${SEARCH_GROUP_VERSION}/resourceregistries`
  const fields = createSchemaFields({ ...parts, clock: options.runtime.clock })
  const gated = (route: Route): Route => whenSynced(more.sync, route)
  return [
    { prefix, handler: createResourceRegistriesHandler(more.registries) },
    ...searchRoutes(options, { ...parts, fields }, more.discovery, more).map(gated),
    ...proxyRoutes(options, { ...parts, fields }, more.plugins).map(gated),
  ]
}

export function memberDiscovery(fleet: Fleet, discovery: DiscoveryTracker): MemberDiscovery {
  return {
    resources(cluster) {
      const member = fleet.member(cluster)
      return member === undefined ? undefined : discovery.resources(member.facts)
    },
  }
}

/** Which fields a kind has. */
export interface PluginFields {
  readonly fields: FieldSource
}

interface SearchParts {
  readonly source: SearchSource
  /** The store that is in an engine of that kind, for searches in its own language; undefined: there is none. */
  readonly native: (kind: EngineKind) => NativeSearch | undefined
  readonly letters: DeadLetterBox
  readonly metrics: Registry
}

function searchRoutes(
  { search, controlPlane, runtime: { clock } }: RouteOptions,
  { fleet, cache, columns, fields, ...parts }: PluginParts & PluginFields,
  { known }: DiscoveryTracker,
  { source, native, letters, metrics }: SearchParts,
): Route[] {
  if (!search) return []
  const prefix = `/apis/${SEARCH_GROUP_VERSION}/search`
  const clusters = { names: () => fleet.members().map(({ facts }) => facts.name) }
  const rights = parts.rights?.rights
  const cacheHandler = createSearchCacheHandler({ cache, known, clusters, columns, fields, clock, rights })
  const usage = new SearchUsage(metrics)
  const passed = { rights, cache, clusters, clock, usage }
  const endpoints = {
    ...searchEndpoints({
      store: source.store,
      cache,
      clock,
      clusters,
      columns,
      index: source,
      rights,
      controlPlane,
      usage,
    }),
    'dead-letters': createDeadLettersHandler({ rights, cache }, letters),
    opensearch: createPassthroughHandler({ ...passed, engine: 'opensearch', native: () => native('opensearch') }),
    elasticsearch: createPassthroughHandler({
      ...passed,
      engine: 'elasticsearch',
      native: () => native('elasticsearch'),
    }),
  }
  return [
    { prefix: `${prefix}/cache`, handler: cacheHandler, errorField: true },
    ...Object.entries(endpoints).map(([name, handler]) => ({ prefix: `${prefix}/${name}`, handler, errorField: true })),
  ]
}

function proxyRoutes(
  { proxy, writeGuard: guard, lastPlugin, runtime: { clock, random } }: RouteOptions,
  parts: PluginParts & PluginFields,
  others: readonly Plugin[],
): Route[] {
  if (!proxy) return []
  const { fleet, cache, columns, fields, rights } = parts
  const live = createLivePlugin({ ...parts, clock, random })
  const plugins = [
    createCachePlugin({
      cache,
      columns,
      fields,
      clock,
      random,
      rights,
      writes: { fences: parts.fences, live: live.connect },
    }),
    live,
    createClusterPlugin({ ...parts, clock }),
    lastPlugin(parts),
    ...others,
  ]
  return [{ prefix: `/apis/${SEARCH_GROUP_VERSION}/proxying`, handler: createProxyHandler({ plugins, fleet, guard }) }]
}

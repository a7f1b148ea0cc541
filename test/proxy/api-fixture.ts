/** search/cache and the proxy over one fleet, under the paths that clients use. */
import type { ApiHandler } from '../../src/http/api-request.ts'
import type { FieldSource } from '../../src/http/field-source.ts'
import type { Rights } from '../../src/http/rights.ts'
import { createProxyHandler } from '../../src/proxy/framework.ts'
import type { Plugin } from '../../src/proxy/plugin.ts'
import { createCachePlugin } from '../../src/proxy/plugins/cache.ts'
import { createClusterPlugin } from '../../src/proxy/plugins/cluster.ts'
import type { FencePeers } from '../../src/proxy/write/fences.ts'
import { createWriteServices } from '../../src/proxy/write/write.ts'
import { createLivePlugin } from '../../src/proxy/plugins/live.ts'
import { WatchGuards } from '../../src/proxy/watch/watch-guards.ts'
import { createSearchCacheHandler } from '../../src/search/cache-handler.ts'
import { Loopback } from '../http/loopback.ts'
import type { TestFleet } from './fleet-fixture.ts'
import type { MemberWorld } from './member-fixture.ts'

export const PREFIX = '/apis/search.karmada.io/v1alpha1'
/** `S` and `P` of the cases. */
export const S = `${PREFIX}/search/cache`
export const P = `${PREFIX}/proxying/karmada/proxy`

export interface ApiOptions {
  /** Plugins of order 3000: what stands behind the registered resources. */
  readonly behind?: readonly Plugin[]
  /** Default: everybody sees everything. */
  readonly rights?: Rights
  /** Default: only the fields of a real API server. */
  readonly fields?: FieldSource
  /** Default: there are no other replicas. */
  readonly peers?: FencePeers | undefined
}

export function fleetApi(
  fleet: TestFleet,
  members: MemberWorld,
  { behind = [], rights, fields, peers }: ApiOptions = {},
): ApiHandler {
  const { cache, columns, clock, known } = fleet
  const clusters = { names: () => fleet.clusters }
  const search = createSearchCacheHandler({ cache, columns, fields, clock, known, clusters, rights })
  const guarded = rights === undefined ? undefined : { rights, guards: guardsOf(rights, fleet) }
  const sources = { fleet: members.fleet, discovery: members.discovery }
  const live = { cache, columns, fields, clock, random: () => 0, rights: guarded, ...sources }
  const writes = createWriteServices({ clock: members.clock, cache, peers })
  const livePlugin = createLivePlugin({ ...live, ...writes })
  const plugins = [
    createCachePlugin({ ...live, writes: { fences: writes.fences, live: livePlugin.connect } }),
    livePlugin,
    createClusterPlugin({ ...live, ...writes }),
    ...behind,
  ]
  const proxy = createProxyHandler({ plugins, fleet: members.fleet })
  return (request, response) => {
    const path = request.path.slice(PREFIX.length)
    const isSearch = path.startsWith('/search/cache')
    const rest = path.slice((isSearch ? '/search/cache' : '/proxying').length)
    return (isSearch ? search : proxy)({ ...request, path: rest }, response)
  }
}

function guardsOf(rights: Rights, { cache, clock }: TestFleet): WatchGuards {
  const onFault = (error: unknown): void => {
    throw error
  }
  return new WatchGuards({ rights, cache, clock, onFault })
}

/** Runs `test` against a loopback server; fails for every answer that is our own fault. */
export async function withApi(
  fleet: TestFleet,
  members: MemberWorld,
  run: (api: Loopback) => Promise<void>,
  options: ApiOptions = {},
): Promise<void> {
  const api = await Loopback.start(fleetApi(fleet, members, options))
  try {
    await run(api)
    if (api.faults.length > 0) throw api.faults[0]
  } finally {
    await api.close()
    await members.close()
    fleet.close()
  }
}

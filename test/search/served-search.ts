/** Endpoints of search over a fleet and an embedded store that has been given what the cache has. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { identityOf, manifestOf } from '../../src/backendstore/manifest.ts'
import type { SqliteStore } from '../../src/backendstore/sqlite/store.ts'
import type { ApiHandler } from '../../src/http/api-request.ts'
import { pathNotFound } from '../../src/http/status-response.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { searchEndpoints } from '../../src/search/endpoints.ts'
import type { SearchParts } from '../../src/search/search-parts.ts'
import { newStore } from '../backendstore/sqlite/stores.ts'
import { Loopback, type Answer, type AskOptions } from '../http/loopback.ts'
import { pod, podFleet, type TestFleet } from '../proxy/fleet-fixture.ts'

export type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any

export interface ServedSearch {
  readonly api: Loopback
  readonly store: SqliteStore
  /** An endpoint's answer, whatever it is. */
  readonly ask: (endpoint: string, parameters: Record<string, string>, options?: AskOptions) => Promise<Answer>
  /** The JSON of an endpoint that must answer 200. */
  readonly json: (endpoint: string, parameters: Record<string, string>) => Promise<Json>
}

export async function withSearch(
  fleet: TestFleet,
  use: (served: ServedSearch) => Promise<void>,
  more: Partial<SearchParts> = {},
): Promise<void> {
  const { store, folder } = await newStore()
  await fillStore(store, fleet)
  const clusters = { names: () => [] as ClusterName[] }
  const parts: SearchParts = { store, cache: fleet.cache, clock: fleet.clock, clusters, ...more }
  const api = await Loopback.start(endpointsOf(parts))
  const ask: ServedSearch['ask'] = (endpoint, parameters, options) =>
    api.ask(`/${endpoint}?${new URLSearchParams(parameters).toString()}`, options)
  const json: ServedSearch['json'] = async (endpoint, parameters) => {
    const answer = await ask(endpoint, parameters)
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  try {
    await use({ api, store, ask, json })
    assert.deepEqual(api.faults, [])
  } finally {
    await api.close()
    await store.close()
    fleet.close()
    rmSync(folder, { recursive: true })
  }
}

function endpointsOf(parts: SearchParts): ApiHandler {
  const handlers = searchEndpoints(parts)
  return async (request, response) => {
    const [, name = '', rest = ''] = /^\/([^/]+)(.*)$/.exec(request.path) ?? []
    const handler = handlers[name]
    if (handler === undefined) throw pathNotFound()
    await handler({ ...request, path: rest }, response)
  }
}

export async function fillStore(store: SqliteStore, fleet: TestFleet): Promise<void> {
  for (const resource of fleet.cache.resources()) {
    for (const { cluster } of resource.shards()) {
      const shard = identityOf({ resource, cluster })
      for await (const entries of manifestOf({ resource, cluster })) {
        await store.write(
          entries.flatMap((entry) => {
            const bytes = resource.get(cluster, entry.namespace, entry.name)?.bytes
            return bytes === undefined ? [] : [{ type: 'upsert' as const, ...shard, ...entry, bytes }]
          }),
        )
      }
    }
  }
}

const shopPod = (name: string, image: string, restarts: number) =>
  pod('shop', name, {
    metadata: { name, labels: { app: name.split('-')[0] ?? '' } },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image }] },
    status: { phase: 'Running', containerStatuses: [{ restartCount: restarts }] },
  })

/** member1: web-1, web-2, db-0; member2: web-1. */
export function fleetOfTwo(): TestFleet {
  return podFleet({
    member1: {
      objects: [shopPod('web-1', 'nginx:1.25', 3), shopPod('web-2', 'nginx:1.24', 0), shopPod('db-0', 'postgres', 1)],
      version: 7,
    },
    member2: { objects: [shopPod('web-1', 'docker.io/library/nginx:1.25', 12)], version: 9 },
  })
}

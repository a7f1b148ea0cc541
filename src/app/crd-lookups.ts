/** Where a CustomResourceDefinition is found, for the printer columns of its Tables: in the cache, else in a member. */
import type { CacheReader } from '../cache/reader.ts'
import type { DiscoveryTracker } from '../controller/discovery-tracker.ts'
import type { FleetReader } from '../fleet/fleet.ts'
import type { CrdLookup, FoundCrd } from '../http/column-source.ts'
import { resourcePath } from '../kube/group-version.ts'

const CRDS = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' }
const MEMBER_TIMEOUT_MS = 2_000
/** A member's definition is asked for again after this long; the cache's own follows at once. */
const KEPT_MS = 60_000

export function crdLookups(
  cache: Pick<CacheReader, 'resource'>,
  fleet: FleetReader,
  discovery: DiscoveryTracker,
  monotonicMs: () => number,
): readonly CrdLookup[] {
  const remembered = new Map<string, { readonly atMs: number; readonly found: Promise<FoundCrd | undefined> }>()
  const fromMembers: CrdLookup = (name) => {
    const known = remembered.get(name)
    if (known !== undefined && monotonicMs() - known.atMs < KEPT_MS) return known.found
    // As many entries as there are CRDs in the fleet: names come from resources that discovery knows.
    const found = askMembers(name, fleet, discovery)
    remembered.set(name, { atMs: monotonicMs(), found })
    return found
  }
  return [(name) => Promise.resolve(inCache(cache, name)), fromMembers]
}

function inCache(cache: Pick<CacheReader, 'resource'>, name: string): FoundCrd | undefined {
  const reader = cache.resource(CRDS)
  if (reader === undefined) return undefined
  for (const { cluster } of reader.shards()) {
    const object = reader.get(cluster, '', name)
    if (object !== undefined) return { key: `${object.uid}/${object.resourceVersion}`, bytes: object.bytes }
  }
  return undefined
}

/** The first member in the order of names that serves the group and has the definition. */
async function askMembers(
  name: string,
  fleet: FleetReader,
  discovery: DiscoveryTracker,
): Promise<FoundCrd | undefined> {
  const serves = fleet
    .members()
    .filter(({ facts }) => discovery.resources(facts)?.some(({ resource, group }) => `${resource}.${group}` === name))
  for (const { client, signal } of serves) {
    try {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(MEMBER_TIMEOUT_MS)])
      const answer = await client.request({
        method: 'GET',
        path: resourcePath(CRDS, undefined, name),
        signal: deadline,
      })
      const bytes = await answer.bytes()
      if (answer.status !== 200) continue
      const { metadata } = JSON.parse(bytes.toString('utf8')) as { metadata: { uid: string; resourceVersion: string } }
      return { key: `${metadata.uid}/${metadata.resourceVersion}`, bytes }
    } catch {
      // The next member may know; without any, the Table has NAME and AGE.
      continue
    }
  }
  return undefined
}

/**
 * What one member serves, over time. A member that cannot say what a group serves (503, an aggregated API that is down)
 * keeps what it served of it; what a full answer no longer names is gone only when the next one does not name it either:
 * a starting kube-apiserver leaves out groups for a moment without saying so. Pure.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Discovery } from '../fleet/discovery.ts'
import type { DiscoveredResource } from '../fleet/discovery/discovered.ts'
import { gvrKey } from '../kube/group-version.ts'

export interface TrackedDiscovery {
  /** The same array as long as nothing changed. */
  readonly resources: readonly DiscoveredResource[]
  readonly failedGroups: readonly string[]
  /** By `gvrKey`: left out of the last answer, so the next decides. */
  readonly missing: ReadonlySet<string>
  /** By `gvrKey`: how often a resource came back after it was missing. */
  readonly returns: ReadonlyMap<string, number>
}

export function track(previous: TrackedDiscovery | undefined, fresh: Discovery): TrackedDiscovery {
  if (previous === undefined) {
    return { resources: fresh.resources, failedGroups: fresh.failedGroups, missing: new Set(), returns: new Map() }
  }
  const served = new Set(fresh.resources.map(gvrKey))
  const failed = new Set(fresh.failedGroups)
  const kept: DiscoveredResource[] = []
  const missing = new Set<string>()
  for (const resource of previous.resources) {
    const key = gvrKey(resource)
    if (served.has(key)) continue
    if (failed.has(resource.group)) {
      kept.push(resource)
      if (previous.missing.has(key)) missing.add(key)
    } else if (!previous.missing.has(key)) {
      kept.push(resource)
      missing.add(key)
    }
  }
  const resources = [...fresh.resources, ...kept]
  return {
    resources: isDeepStrictEqual(resources, previous.resources) ? previous.resources : resources,
    failedGroups: fresh.failedGroups,
    missing,
    returns: countReturns(previous, served),
  }
}

function countReturns(
  { missing, returns }: TrackedDiscovery,
  served: ReadonlySet<string>,
): TrackedDiscovery['returns'] {
  const back = [...missing].filter((key) => served.has(key))
  if (back.length === 0) return returns
  const counted = new Map(returns)
  for (const key of back) counted.set(key, (counted.get(key) ?? 0) + 1)
  return counted
}

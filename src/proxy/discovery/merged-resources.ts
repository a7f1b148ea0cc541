/** What several clusters serve, as one API: the union of their resources. */
import type { DiscoveredResource } from '../../fleet/discovery/discovered.ts'
import { gvrKey } from '../../kube/group-version.ts'
import { compareVersionPriority } from '../../kube/version-priority.ts'

export interface MergedVersion {
  readonly version: string
  readonly resources: readonly DiscoveredResource[]
}

export interface MergedGroup {
  /** Empty for the core group. */
  readonly group: string
  /** The preferred one first, then by priority. */
  readonly versions: readonly MergedVersion[]
}

/**
 * Groups in the order in which the clusters have them; a group's preferred version is that of the first cluster that has
 * it; verbs and subresources are united, everything else of a resource is the first cluster's.
 */
export function mergeResources(clusters: readonly (readonly DiscoveredResource[])[]): readonly MergedGroup[] {
  const groups = new Map<string, Map<string, DiscoveredResource[]>>()
  const preferred = new Map<string, string>()
  for (const resource of unite(clusters)) {
    const { group, version } = resource
    if (resource.preferred && !preferred.has(group)) preferred.set(group, version)
    const versions = getOrAdd(groups, group, () => new Map<string, DiscoveredResource[]>())
    getOrAdd(versions, version, () => [] as DiscoveredResource[]).push(resource)
  }
  return [...groups].map(([group, versions]) => ({
    group,
    versions: [...versions]
      .map(([version, resources]) => ({ version, resources }))
      .sort((a, b) => byPreference(a.version, b.version, preferred.get(group))),
  }))
}

function unite(clusters: readonly (readonly DiscoveredResource[])[]): Iterable<DiscoveredResource> {
  const united = new Map<string, DiscoveredResource>()
  for (const resources of clusters) {
    for (const resource of resources) {
      const key = gvrKey(resource)
      const known = united.get(key)
      united.set(key, known === undefined ? resource : widened(known, resource))
    }
  }
  return united.values()
}

function widened(known: DiscoveredResource, other: DiscoveredResource): DiscoveredResource {
  const verbs = union(known.verbs, other.verbs)
  const subresources = union(known.subresources, other.subresources)
  if (verbs === known.verbs && subresources === known.subresources) return known
  return { ...known, verbs, subresources }
}

/** `a` itself where `b` adds nothing. */
function union(a: readonly string[], b: readonly string[]): readonly string[] {
  const more = b.filter((text) => !a.includes(text))
  return more.length === 0 ? a : [...a, ...more]
}

function byPreference(a: string, b: string, preferred: string | undefined): number {
  if (a === b) return 0
  if (a === preferred) return -1
  if (b === preferred) return 1
  return compareVersionPriority(a, b)
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

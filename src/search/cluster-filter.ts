import { clusterPattern } from '../http/field-source.ts'
import type { ClusterName } from '../kube/names.ts'
import { StatusError } from '../kube/status-error.ts'
import type { ClusterNames } from './known-resources.ts'

/**
 * The clusters that `?cluster=` names: several by commas or by repeating it, `*` and `?` as wildcards. undefined without
 * the parameter: all. Throws `notFound` for a name or pattern that no cluster has: an empty answer would hide a typing
 * error.
 */
export function parseClusterFilter(
  query: URLSearchParams,
  clusters: ClusterNames,
): ReadonlySet<ClusterName> | undefined {
  const patterns = query
    .getAll('cluster')
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '')
  if (patterns.length === 0) return undefined
  const names = clusters.names()
  const chosen = new Set<ClusterName>()
  for (const pattern of patterns) {
    const matches = names.filter(clusterPattern(pattern))
    if (matches.length === 0) throw clusterNotFound(pattern)
    for (const name of matches) chosen.add(name)
  }
  return chosen
}

export function clusterNotFound(name: string): StatusError {
  return new StatusError('notFound', `clusters.cluster.karmada.io ${JSON.stringify(name)} not found`, {
    details: { name, group: 'cluster.karmada.io', kind: 'clusters' },
  })
}

/** How fresh each cluster is in an answer that may hold anything. */
import { freshnessOf, type ClusterFreshness } from '../http/freshness.ts'
import type { SearchParts } from './search-parts.ts'
import type { VisibleToCaller } from './visible-documents.ts'

const WORST_FIRST = ['missing', 'syncing', 'stale', 'live'] as const

/** As it stands in bodies. */
export function shownFreshness({ cluster, state, ageMs, inPart }: ClusterFreshness): object {
  return { cluster, state, ageSeconds: seconds(ageMs), ...(inPart === true ? { inPart } : {}) }
}

/** For each cluster the worst of its resources; a cluster of which the caller may see nothing is missing. */
export function clusterFreshness(
  { cache, clusters, clock }: Pick<SearchParts, 'cache' | 'clusters' | 'clock'>,
  { hidden, inPart }: VisibleToCaller,
): ClusterFreshness[] {
  const nowMs = clock.monotonicMs()
  const worst = new Map<string, ClusterFreshness>()
  for (const resource of cache.resources()) {
    for (const shard of resource.shards()) {
      const found = freshnessOf(shard, nowMs)
      const known = worst.get(found.cluster)
      if (known === undefined || isWorse(found, known)) worst.set(found.cluster, found)
    }
  }
  for (const cluster of clusters?.names() ?? []) {
    if (!worst.has(cluster)) worst.set(cluster, { cluster, state: 'missing', reason: 'nothing of it is cached' })
  }
  const told = [...worst.values()].map((found): ClusterFreshness => {
    const reason = hidden.get(found.cluster)
    if (reason !== undefined) return { cluster: found.cluster, state: 'missing', reason }
    return inPart.has(found.cluster) ? { ...found, inPart: true } : found
  })
  return told.sort((a, b) => Buffer.compare(Buffer.from(a.cluster), Buffer.from(b.cluster)))
}

function isWorse(a: ClusterFreshness, b: ClusterFreshness): boolean {
  const order = WORST_FIRST.indexOf(a.state) - WORST_FIRST.indexOf(b.state)
  return order !== 0 ? order < 0 : (a.ageMs ?? 0) > (b.ageMs ?? 0)
}

export function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.floor(ms / 1_000)
}

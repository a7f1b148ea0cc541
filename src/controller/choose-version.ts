/** Which one version of a resource is cached for the whole fleet. */
import { compareVersionPriority } from '../kube/version-priority.ts'
import type { PlanMember } from './plan-parts.ts'
import { servedBy } from './served-resources.ts'
import type { Wanted } from './wanted.ts'

/** `cached` is the version cached now, if any. */
export function chooseVersion(want: Wanted, members: readonly PlanMember[], cached: string | undefined): string {
  const served = countServed(want, members)
  const named = [...new Set(want.namedBy.map(({ version }) => version))].sort(compareVersionPriority)
  const choice = named.find((version) => served.has(version)) ?? named[0]
  if (choice !== undefined) return choice
  // Wildcards alone: no change without need, since a change lists the whole fleet again.
  if (cached !== undefined && (served.size === 0 || served.has(cached))) return cached
  const [best] = [...served].sort(
    ([a, x], [b, y]) => y.clusters - x.clusters || y.preferred - x.preferred || compareVersionPriority(a, b),
  )
  return best?.[0] ?? ''
}

interface Count {
  clusters: number
  preferred: number
}

function countServed(want: Wanted, members: readonly PlanMember[]): Map<string, Count> {
  const counts = new Map<string, Count>()
  for (const { facts, resources } of members) {
    if (resources === undefined || !want.wantedOf(facts.name)) continue
    for (const { version, preferred } of servedBy(resources).versions(want.key)) {
      const count = counts.get(version) ?? { clusters: 0, preferred: 0 }
      count.clusters += 1
      count.preferred += preferred ? 1 : 0
      counts.set(version, count)
    }
  }
  return counts
}

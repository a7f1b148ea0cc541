/** What an operator watches of rights. */
import { Counter, Gauge, type Registry } from '../telemetry/metrics.ts'
import type { MemberRightsState } from './member-rights.ts'

/** Returns how to count a review's outcome. */
export function addRightsMetrics(
  registry: Registry,
  states: () => ReadonlyMap<string, MemberRightsState>,
): (outcome: 'allowed' | 'denied' | 'failed') => void {
  new Gauge({
    name: 'fleetsearch_rights_rbac_objects',
    help: 'RBAC objects kept of a member cluster.',
    labelNames: ['cluster'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [cluster, { objects }] of states()) this.set({ cluster }, objects)
    },
  })
  new Gauge({
    name: 'fleetsearch_rights_clusters',
    help: 'Member clusters by the state of their RBAC objects and by what decides on rights: they (local) or reviews.',
    labelNames: ['state', 'decides'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { rbac, decides } of states().values()) this.inc({ state: rbac.state, decides })
    },
  })
  const reviews = new Counter({
    name: 'fleetsearch_rights_reviews_total',
    help: 'SubjectAccessReviews asked for rights on results.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  return (outcome) => {
    reviews.inc({ outcome })
  }
}

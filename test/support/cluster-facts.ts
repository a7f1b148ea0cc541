/** What is known of a cluster that a test makes up. */
import type { ClusterFacts } from '../../src/fleet/member.ts'
import type { ClusterName } from '../../src/kube/names.ts'

export function facts(name: string, more: Partial<ClusterFacts> = {}): ClusterFacts {
  return {
    name: name as ClusterName,
    uid: `uid-${name}`,
    labels: {},
    provider: '',
    region: '',
    zones: [],
    ready: true,
    ...more,
  }
}

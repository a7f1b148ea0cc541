/** What a plan is made from and made of, wherever its parts are worked out. */
import type { DiscoveredResource } from '../fleet/discovery/discovered.ts'
import type { ClusterFacts } from '../fleet/member.ts'
import type { GroupVersionResource } from '../kube/group-version.ts'

export interface PlanMember {
  readonly facts: ClusterFacts
  /** Undefined: never asked with success. The same array as long as nothing changed. */
  readonly resources: readonly DiscoveredResource[] | undefined
}

export interface PlannedResource {
  readonly gvr: GroupVersionResource
  readonly kind: string
  readonly namespaced: boolean
  /** What is taken out of its objects (kube/redaction.ts); undefined: nothing. */
  readonly redaction?: string
}

export type PlanProblemReason =
  'NoClusterMatches' | 'NotServed' | 'NotWatchable' | 'OtherVersionCached' | 'TooManyResources'

export interface PlanProblem {
  readonly registry: string
  readonly reason: PlanProblemReason
  /** For people, one sentence. */
  readonly message: string
}

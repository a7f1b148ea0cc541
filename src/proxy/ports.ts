/** What the proxy asks of the rest of the program; declared here, joined in the composition root. */
import type { MemberRequest, MemberResponse } from '../fleet/member.ts'
import type { GroupVersionResource } from '../kube/group-version.ts'
import type { ClusterName } from '../kube/names.ts'

export interface ServedSubresource {
  /** What follows the resource's name and a slash: `log`, `scale`. */
  readonly name: string
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
}

/** One resource in one version, as a member's discovery tells it. */
export interface ServedResource extends GroupVersionResource {
  readonly kind: string
  readonly singular: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly subresources: readonly ServedSubresource[]
  /** This version is the one the member prefers for the group. */
  readonly preferred: boolean
}

export interface MemberDiscovery {
  /**
   * What a member serves, groups that fail at the moment as they were last seen; undefined for a member that was never
   * heard. The same array as long as nothing changes.
   */
  resources(cluster: ClusterName): readonly ServedResource[] | undefined
}

/** Speaks to the control plane with the service's own credentials, which may impersonate. Structurally a MemberClient. */
export interface HostClient {
  request(request: MemberRequest): Promise<MemberResponse>
}

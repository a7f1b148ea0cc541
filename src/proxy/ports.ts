/** What the proxy asks of the rest of the program; declared here, joined in the composition root. */
import type { DiscoveredResource } from '../fleet/discovery/discovered.ts'
import type { MemberClient, MemberRequest, MemberResponse } from '../fleet/member.ts'
import type { ClusterName } from '../kube/names.ts'

export interface MemberDiscovery {
  /**
   * What a member serves, groups that fail at the moment as they were last seen; undefined for a member that was never
   * heard. The same array as long as nothing changes.
   */
  resources(cluster: ClusterName): readonly DiscoveredResource[] | undefined
}

/** Speaks to the control plane with the service's own credentials, which may impersonate. Structurally a MemberClient. */
export interface HostClient {
  request(request: MemberRequest): Promise<MemberResponse>
  /** Absent: this one cannot. */
  readonly upgrade?: NonNullable<MemberClient['upgrade']>
}

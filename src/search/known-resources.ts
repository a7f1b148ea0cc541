/** What search asks of the rest of the program; declared here, joined in the composition root. */
import type { ClusterName } from '../kube/names.ts'
import type { GroupVersionResource } from '../kube/group-version.ts'

export interface KnownResource extends GroupVersionResource {
  readonly kind: string
  readonly namespaced: boolean
}

/** Every resource that any member or the control plane has ever served since start; tells an empty list from a 404. */
export interface KnownResources {
  known(group: string, version: string, resource: string): KnownResource | undefined
  /** False until the first of them has told what it serves: nothing can be said of any resource then. */
  heard(): boolean
}

/** The clusters there are now, whatever is cached of them. */
export interface ClusterNames {
  names(): readonly ClusterName[]
}

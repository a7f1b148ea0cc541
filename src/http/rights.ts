/**
 * The port to rights on results: what of each member's objects a caller may see. Declared for those who answer reads
 * (`proxy/`, `search/`), implemented by `rights/`; without an implementation everybody sees everything.
 */
import type { GroupResource } from '../kube/group-version.ts'
import type { ClusterName } from '../kube/names.ts'
import type { ObjectScope } from '../kube/object-scope.ts'
import type { UserInfo } from './api-request.ts'

/** A request as a member's own authorizer would see it. */
export interface RightsQuestion extends GroupResource {
  readonly user: UserInfo
  /** `get`, `list`, `watch`, … */
  readonly verb: string
  /** Empty: the resource itself. */
  readonly subresource: string
  /** Empty: of all namespaces, or the resource has none. Of a single Namespace it is that namespace's own name. */
  readonly namespace: string
  /** Empty: no single object. A list or watch of one `metadata.name` has it. */
  readonly name: string
  /** The answer filters objects one by one. Otherwise only whether this very request is allowed counts. */
  readonly byObject: boolean
  /** Of the resource: namespaces and names in them say nothing about objects without a namespace. */
  readonly namespaced: boolean
}

export interface ClusterRights {
  /** Exact for what the question is about; beyond that it may say less. */
  readonly scope: ObjectScope
  /** Why nobody can tell, short and fit to show: then the scope is empty. */
  readonly undetermined?: string
}

/**
 * Contract:
 * - The answer has an entry for every cluster asked of. It never rejects for a member's faults: what cannot be decided is
 *   refused (fail closed).
 * - After `onChange` has called back, an answer may differ from the one before. Calls are coalesced, within a second of the
 *   change being heard; where nobody tells of changes, they come every few seconds instead.
 */
export interface Rights {
  of(
    question: RightsQuestion,
    clusters: readonly ClusterName[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<ClusterName, ClusterRights>>
  /** Returns how to stop listening. */
  onChange(listener: () => void): () => void
}

/**
 * The proxy's chain: plugins in ascending order, the first that supports a request serves it. Our own stand at 1000
 * (cache), 1500 (live), 2000 (cluster) and 3000 (members or karmada); others may be put in between.
 */
import type { Exchange } from '../http/answer.ts'
import type { ClusterName } from '../kube/names.ts'
import type { ResourcePath } from '../kube/resource-path.ts'

/** As an API server's authorization names it; `connect` and the like are `create` or `get` of a subresource here. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection' | 'options'

export interface ProxyRequest extends Exchange {
  readonly verb: Verb
  /** The native path, still percent-encoded: `/api/v1/pods`. */
  readonly path: string
  /** Undefined for discovery, `/version`, `/openapi` and what else is no resource. */
  readonly resource: ResourcePath | undefined
  /** The one cluster the caller chose; undefined: all of them. */
  readonly cluster: ClusterName | undefined
  /** What stands before the native path in the client's URL, to put before redirects. */
  readonly prefix: string
}

export interface Plugin {
  readonly name: string
  readonly order: number
  supports(request: ProxyRequest): boolean
  /** Answers, as an `ApiHandler` does. */
  connect(request: ProxyRequest): Promise<void>
}

/** Narrows a cache or fleet to the chosen cluster. */
export function chosenClusters({ cluster }: ProxyRequest): ReadonlySet<ClusterName> | undefined {
  return cluster === undefined ? undefined : new Set([cluster])
}

/** The audit log then names the cluster that a request was sent to. */
export function auditCluster({ request }: ProxyRequest, cluster: ClusterName): void {
  request.annotate?.('proxy.fleetsearch.dev/cluster', cluster)
}

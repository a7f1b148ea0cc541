/** Karmada's kinds between a policy and the objects in members, and which of them are found from which. */
import type { CacheReader } from '../cache/reader.ts'
import type { JsonObject } from '../kube/columns/column.ts'
import { items, text } from '../kube/columns/read.ts'
import { EXECUTION_SPACE } from './karmada-names.ts'
import { labelOf } from './related-names.ts'
import type { Standing, StandingResource } from './standing.ts'

const POLICY = 'policy.karmada.io'
const WORK = 'work.karmada.io'

/** Source: karmada pkg/apis/policy/v1alpha1, pkg/apis/work/v1alpha1 and v1alpha2. */
const BINDING = chainKind(WORK, 'v1alpha2', 'resourcebindings', 'ResourceBinding')
const CLUSTER_BINDING = chainKind(WORK, 'v1alpha2', 'clusterresourcebindings', 'ClusterResourceBinding')
const WORKS = chainKind(WORK, 'v1alpha1', 'works', 'Work')
const CHAIN: readonly StandingResource[] = [
  chainKind(POLICY, 'v1alpha1', 'propagationpolicies', 'PropagationPolicy'),
  chainKind(POLICY, 'v1alpha1', 'clusterpropagationpolicies', 'ClusterPropagationPolicy'),
  chainKind(POLICY, 'v1alpha1', 'overridepolicies', 'OverridePolicy'),
  chainKind(POLICY, 'v1alpha1', 'clusteroverridepolicies', 'ClusterOverridePolicy'),
  BINDING,
  CLUSTER_BINDING,
  WORKS,
]

function chainKind(group: string, version: string, resource: string, kind: string): StandingResource {
  return { gvr: { group, version, resource }, kind, namespaced: !kind.startsWith('Cluster') }
}

export function chainKindOf(kind: string, group?: string): StandingResource | undefined {
  return CHAIN.find((each) => each.kind === kind && (group === undefined || each.gvr.group === group))
}

/** By kind or resource in lower case, as parameters name them. */
export function chainKindNamed(name: string, group: string | null): StandingResource | undefined {
  return CHAIN.find(
    ({ gvr, kind }) =>
      (kind.toLowerCase() === name || gvr.resource === name) && (group === null || gvr.group === group),
  )
}

/** A cluster is cached that has one of them: the control plane is a cluster, too, and the chain is that of the cache. */
export function isChainCached(cache: CacheReader): boolean {
  return CHAIN.some(({ gvr }) =>
    cache
      .resource(gvr)
      ?.shards()
      .some(({ synced }) => synced),
  )
}

/** What the control plane is asked for; objects of other kinds there lead nowhere. */
export interface ChainList {
  readonly resource: StandingResource
  /** Undefined: of all. */
  readonly namespace?: string
  readonly labels: Readonly<Record<string, string>>
  /** Instead, where the caller may not list that. */
  readonly otherwise?: readonly ChainList[]
}

/** Where those stand that may name this one: bindings of a policy, Works of a binding. */
export function chainLists({ reader, object }: Standing, json: JsonObject): readonly ChainList[] {
  switch (reader.kind) {
    case 'PropagationPolicy':
      return [{ resource: BINDING, namespace: object.namespace, labels: idOf(json, 'propagationpolicy') }]
    case 'ClusterPropagationPolicy': {
      const labels = idOf(json, 'clusterpropagationpolicy')
      return [
        { resource: BINDING, labels },
        { resource: CLUSTER_BINDING, labels },
      ]
    }
    case 'ResourceBinding':
      return worksOf(json, idOf(json, 'resourcebinding'))
    case 'ClusterResourceBinding':
      return worksOf(json, idOf(json, 'clusterresourcebinding'))
    default:
      return []
  }
}

/**
 * Karmada labels with it what came from the object, and the object itself. Empty before Karmada 1.8 or so.
 * Source: karmada pkg/apis/policy/v1alpha1/well_known_constants.go, pkg/apis/work/v1alpha2/well_known_constants.go.
 */
function idOf(json: JsonObject, of: string): Readonly<Record<string, string>> {
  const key = `${of}.karmada.io/permanent-id`
  const id = labelOf(json, key)
  return id === '' ? {} : { [key]: id }
}

/** Each of its clusters has a namespace for its Works, which is all that a tenant may be allowed. */
function worksOf(binding: JsonObject, labels: Readonly<Record<string, string>>): readonly ChainList[] {
  const each = items(binding, 'spec', 'clusters').map((cluster) => ({
    resource: WORKS,
    namespace: EXECUTION_SPACE + text(cluster, 'name'),
    labels,
  }))
  return Object.keys(labels).length === 0 ? each : [{ resource: WORKS, labels, otherwise: each }]
}

/** Registries, clusters and what they serve, for tests of the controller. */
import type { ResourceRegistry, ResourceRegistrySpec, ResourceSelector } from '../../src/api/resource-registry.ts'
import type { PlannedShard } from '../../src/controller/plan.ts'
import type { DiscoveredResource } from '../../src/fleet/discovery/discovered.ts'
import type { ClusterName } from '../../src/kube/names.ts'

export function registry(
  name: string,
  resourceSelectors: readonly ResourceSelector[],
  targetCluster: ResourceRegistrySpec['targetCluster'] = {},
): ResourceRegistry {
  return {
    apiVersion: 'search.karmada.io/v1alpha1',
    kind: 'ResourceRegistry',
    metadata: { name, uid: `uid-${name}`, resourceVersion: '1', creationTimestamp: '2026-11-30T00:00:00Z' },
    spec: { targetCluster, resourceSelectors },
  }
}

/** `apps/v1/deployments:Deployment`; a `!` at the end: it lies in no namespace. */
export function resource(text: string, more: Partial<DiscoveredResource> = {}): DiscoveredResource {
  const [path = '', kind = ''] = text.replace('!', '').split(':')
  const parts = path.split('/')
  const [group = '', version = '', plural = ''] = parts.length === 3 ? parts : ['', ...parts]
  return {
    group,
    version,
    preferred: true,
    kind,
    resource: plural,
    singular: kind.toLowerCase(),
    namespaced: !text.endsWith('!'),
    verbs: ['get', 'list', 'watch'],
    shortNames: [],
    categories: [],
    subresources: [],
    ...more,
  }
}

export const PODS = resource('v1/pods:Pod')
export const NODES = resource('v1/nodes:Node!')
export const SECRETS = resource('v1/secrets:Secret')
export const EVENTS = resource('v1/events:Event')
export const DEPLOYMENTS = resource('apps/v1/deployments:Deployment')

export const pods = (namespace?: string): ResourceSelector => ({
  apiVersion: 'v1',
  kind: 'Pod',
  ...(namespace === undefined ? {} : { namespace }),
})
export const everything: ResourceSelector = { apiVersion: '*', kind: '*' }

/** A shard of one cluster that the registry `rr` asks for. */
export function planned(cluster: string, plural: string): PlannedShard {
  return {
    cluster: cluster as ClusterName,
    clusterUid: 'u',
    gvr: { group: '', version: 'v1', resource: plural },
    kind: plural,
    namespaced: true,
    namespaces: undefined,
    served: true,
    isBeyond: false,
    registries: ['rr'],
    claims: new Map(),
  }
}

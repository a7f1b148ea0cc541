/** Discovery of our own group, plain and aggregated: shapes and verbs as clients of karmada-search know them. */
import { SEARCH_GROUP, SEARCH_GROUP_VERSION, SEARCH_VERSION } from '../api/resource-registry.ts'

const REGISTRY_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

interface OwnResource {
  readonly name: string
  readonly singularName: string
  readonly kind: string
  readonly verbs: readonly string[]
  readonly shortNames?: readonly string[]
  readonly storageVersionHash?: string
}

/** Sorted by name, as a generic API server lists them. */
const RESOURCES: readonly OwnResource[] = [
  {
    name: 'proxying',
    singularName: 'proxying',
    kind: 'Proxying',
    verbs: ['create', 'delete', 'get', 'patch', 'update'],
  },
  {
    name: 'resourceregistries',
    singularName: 'resourceregistry',
    kind: 'ResourceRegistry',
    verbs: REGISTRY_VERBS,
    shortNames: ['rr'],
    // As the original prints it: base64 of the first 8 bytes of sha256 of `search.karmada.io/v1alpha1/ResourceRegistry`.
    storageVersionHash: 'fCsl2+C1ckI=',
  },
  {
    name: 'resourceregistries/status',
    singularName: '',
    kind: 'ResourceRegistry',
    verbs: ['get', 'patch', 'update'],
  },
  { name: 'search', singularName: 'search', kind: 'Search', verbs: ['create', 'get'] },
]

export const API_RESOURCE_LIST = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: SEARCH_GROUP_VERSION,
  resources: RESOURCES.map((resource) => ({ ...resource, namespaced: false })),
}

const GROUP_VERSION = { groupVersion: SEARCH_GROUP_VERSION, version: SEARCH_VERSION }

const GROUP = { name: SEARCH_GROUP, versions: [GROUP_VERSION], preferredVersion: GROUP_VERSION }

export const API_GROUP = { kind: 'APIGroup', apiVersion: 'v1', ...GROUP }

/** `serverAddress` is where the client came in, e.g. `127.0.0.1:8080`. */
export function apiGroupList(serverAddress: string): object {
  const group = { ...GROUP, serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }] }
  return { kind: 'APIGroupList', groups: [group] }
}

/** `APIGroupDiscoveryList`, `v2` or `v2beta1`. */
export function aggregatedDiscovery(version: 'v2' | 'v2beta1'): object {
  const main = RESOURCES.filter((resource) => !resource.name.includes('/'))
  const responseKind = (kind: string): object => ({ group: SEARCH_GROUP, version: SEARCH_VERSION, kind })
  const resources = main.map((resource) => ({
    resource: resource.name,
    responseKind: responseKind(resource.kind),
    scope: 'Cluster',
    singularResource: resource.singularName,
    verbs: resource.verbs,
    ...(resource.shortNames === undefined ? {} : { shortNames: resource.shortNames }),
    ...subresourcesOf(resource.name, responseKind),
  }))
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: [
      {
        metadata: { name: SEARCH_GROUP },
        versions: [{ version: SEARCH_VERSION, resources, freshness: 'Current' }],
      },
    ],
  }
}

function subresourcesOf(name: string, responseKind: (kind: string) => object): object {
  const own = RESOURCES.filter((resource) => resource.name.startsWith(`${name}/`))
  if (own.length === 0) return {}
  return {
    subresources: own.map((resource) => ({
      subresource: resource.name.slice(name.length + 1),
      responseKind: responseKind(resource.kind),
      verbs: resource.verbs,
    })),
  }
}

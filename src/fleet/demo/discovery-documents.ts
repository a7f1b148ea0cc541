/**
 * Discovery as a kube-apiserver answers it, plain (`/api`, `/apis`, one document for each group and version) and
 * aggregated (`apidiscovery.k8s.io`, everything in two documents).
 */
import { createHash } from 'node:crypto'
import { apiVersionOf, type GroupVersion } from '../../kube/group-version.ts'
import { verbsOf, type ResourceType, type Subresource } from './resource-type.ts'

type Document = Readonly<Record<string, unknown>>

interface ServedVersion extends GroupVersion {
  readonly types: readonly ResourceType[]
}

/** Group → its versions, the preferred one first; groups and versions in the order of registration. */
function groupsOf(types: readonly ResourceType[]): Map<string, ServedVersion[]> {
  const groups = new Map<string, ServedVersion[]>()
  const versions = Map.groupBy(types, apiVersionOf)
  for (const served of versions.values()) {
    const [first] = served
    if (first === undefined) continue
    const known = groups.get(first.group) ?? []
    groups.set(first.group, [...known, { group: first.group, version: first.version, types: served }])
  }
  return groups
}

/** `/api`. */
export function coreVersions(serverAddress: string): Document {
  const serverAddressByClientCIDRs = [{ clientCIDR: '0.0.0.0/0', serverAddress }]
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs }
}

/** `/apis`. */
export function groupList(types: readonly ResourceType[]): Document {
  const groups = [...groupsOf(types)].filter(([name]) => name !== '').map(([name, versions]) => group(name, versions))
  return { kind: 'APIGroupList', apiVersion: 'v1', groups }
}

/** `/apis/<group>`; undefined for a group without types. */
export function groupDocument(types: readonly ResourceType[], name: string): Document | undefined {
  const versions = groupsOf(types).get(name)
  return versions === undefined ? undefined : { kind: 'APIGroup', apiVersion: 'v1', ...group(name, versions) }
}

function group(name: string, versions: readonly ServedVersion[]): Document {
  const all = versions.map(({ group: g, version }) => ({ groupVersion: apiVersionOf({ group: g, version }), version }))
  return { name, versions: all, preferredVersion: all[0] }
}

/** `/api/v1`, `/apis/<group>/<version>`; undefined for a version without types. */
export function resourceList(types: readonly ResourceType[], gv: GroupVersion): Document | undefined {
  const served = types.filter((type) => type.group === gv.group && type.version === gv.version)
  if (served.length === 0) return undefined
  const resources = served.flatMap((type) => [
    plainResource(type),
    ...(type.subresources ?? []).map((sub) => plainSubresource(type, sub)),
  ])
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf(gv), resources }
}

function plainResource(type: ResourceType): Document {
  return {
    name: type.resource,
    singularName: type.singular,
    namespaced: type.namespaced,
    kind: type.kind,
    verbs: verbsOf(type),
    ...(type.shortNames === undefined ? {} : { shortNames: type.shortNames }),
    ...(type.categories === undefined ? {} : { categories: type.categories }),
    ...(verbsOf(type).includes('list') ? { storageVersionHash: storageVersionHash(type) } : {}),
  }
}

function plainSubresource(type: ResourceType, sub: Subresource): Document {
  return {
    name: `${type.resource}/${sub.name}`,
    singularName: '',
    namespaced: type.namespaced,
    ...(sub.group === undefined ? {} : { group: sub.group }),
    ...(sub.version === undefined ? {} : { version: sub.version }),
    kind: sub.kind ?? type.kind,
    verbs: sub.verbs,
  }
}

/** Eight bytes that change with the storage version, in base64. */
function storageVersionHash(type: ResourceType): string {
  const digest = createHash('sha256')
    .update(`${apiVersionOf(type)}/${type.kind}`)
    .digest()
  return digest.subarray(0, 8).toString('base64')
}

/** `APIGroupDiscoveryList` of `/api` (`core`) or `/apis`. */
export function aggregated(types: readonly ResourceType[], part: 'core' | 'groups', version: string): Document {
  const groups = [...groupsOf(types)].filter(([name]) => (name === '') === (part === 'core'))
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(([name, versions]) => ({
      metadata: { ...(name === '' ? {} : { name }), creationTimestamp: null },
      versions: versions.map((served) => ({
        version: served.version,
        resources: served.types.map(aggregatedResource),
        freshness: 'Current',
      })),
    })),
  }
}

function aggregatedResource(type: ResourceType): Document {
  const subresources = (type.subresources ?? []).map((sub) => ({
    subresource: sub.name,
    responseKind: responseKind(type, sub),
    verbs: sub.verbs,
  }))
  return {
    resource: type.resource,
    responseKind: responseKind(type, {}),
    scope: type.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: type.singular,
    verbs: verbsOf(type),
    ...(type.shortNames === undefined ? {} : { shortNames: type.shortNames }),
    ...(type.categories === undefined ? {} : { categories: type.categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  }
}

function responseKind(type: ResourceType, sub: Partial<Subresource>): Document {
  return {
    group: sub.group ?? type.group,
    version: sub.version ?? type.version,
    kind: sub.kind ?? type.kind,
  }
}

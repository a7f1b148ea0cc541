/**
 * Discovery documents of a merged API, plain and aggregated.
 * Source: apimachinery pkg/apis/meta/v1 (APIGroup…), k8s.io/api/apidiscovery.
 */
import type { DiscoveredResource } from '../../fleet/discovery/discovered.ts'
import type { GroupVersion } from '../../kube/group-version.ts'
import { apiVersionOf } from '../../kube/group-version.ts'
import type { MergedGroup } from './merged-resources.ts'
import { subresourceShapes } from './subresources.ts'

/** A JSON document whose lists may be added to. */
export type Document = Readonly<Record<string, unknown>>

export type AggregatedVersion = 'v2' | 'v2beta1'

/** `/api`. */
export function apiVersions(groups: readonly MergedGroup[]): Document {
  const core = groups.find(({ group }) => group === '')
  const versions = core?.versions.map(({ version }) => version) ?? []
  return { kind: 'APIVersions', versions, serverAddressByClientCIDRs: [] }
}

/** `/apis`. */
export function apiGroupList(groups: readonly MergedGroup[]): Document {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: named(groups).map(groupEntry) }
}

/** `/apis/<group>`; undefined for a group there is none of. */
export function apiGroup(groups: readonly MergedGroup[], name: string): Document | undefined {
  const group = named(groups).find((candidate) => candidate.group === name)
  return group === undefined ? undefined : { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group) }
}

/** `/api/v1`, `/apis/<group>/<version>`; undefined for a version there is none of. */
export function apiResourceList(groups: readonly MergedGroup[], wanted: GroupVersion): Document | undefined {
  const versions = groups.find(({ group }) => group === wanted.group)?.versions
  const found = versions?.find(({ version }) => version === wanted.version)
  if (found === undefined) return undefined
  const resources = found.resources.flatMap(resourceEntries)
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf(wanted), resources }
}

/** The aggregated form of `/api` (the core group) or `/apis` (all others). */
export function aggregated(
  groups: readonly MergedGroup[],
  root: '/api' | '/apis',
  version: AggregatedVersion,
): Document {
  const shown = root === '/api' ? groups.filter(({ group }) => group === '') : named(groups)
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: shown.map(({ group, versions }) => ({
      metadata: { name: group },
      versions: versions.map((each) => ({
        version: each.version,
        resources: each.resources.map(aggregatedResource),
        freshness: 'Current',
      })),
    })),
  }
}

function named(groups: readonly MergedGroup[]): MergedGroup[] {
  return groups.filter(({ group }) => group !== '')
}

function groupEntry({ group, versions }: MergedGroup): Document {
  const entries = versions.map(({ version }) => ({ groupVersion: apiVersionOf({ group, version }), version }))
  return { name: group, versions: entries, preferredVersion: entries[0] }
}

function resourceEntries(resource: DiscoveredResource): Document[] {
  const { resource: name, singular, namespaced, kind, verbs, shortNames, categories } = resource
  const entry = {
    name,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  }
  const subresources = subresourceShapes(resource).map((shape) => ({
    name: `${name}/${shape.name}`,
    singularName: '',
    namespaced,
    ...(apiVersionOf(shape.responseKind) === apiVersionOf(resource)
      ? {}
      : { group: shape.responseKind.group, version: shape.responseKind.version }),
    kind: shape.responseKind.kind,
    verbs: shape.verbs,
  }))
  return [entry, ...subresources]
}

function aggregatedResource(resource: DiscoveredResource): Document {
  const { resource: name, singular, namespaced, group, version, kind, verbs, shortNames, categories } = resource
  const subresources = subresourceShapes(resource)
  return {
    resource: name,
    responseKind: { group, version, kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0
      ? {}
      : {
          subresources: subresources.map((shape) => ({
            subresource: shape.name,
            responseKind: shape.responseKind,
            verbs: shape.verbs,
          })),
        }),
  }
}

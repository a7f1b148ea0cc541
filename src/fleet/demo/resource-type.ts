/** A resource that a demo API server knows: its name, how it is announced in discovery, how it is stored. */
import { apiVersionOf, groupResourceKey, gvrKey, type GroupVersionResource } from '../../kube/group-version.ts'
import type { JsonObject } from '../../kube/columns/column.ts'

export interface Subresource {
  readonly name: string
  readonly verbs: readonly string[]
  /** Default: the parent's. `pods/eviction` is a `policy/v1` `Eviction`. */
  readonly kind?: string
  readonly group?: string
  readonly version?: string
}

export interface ResourceType extends GroupVersionResource {
  readonly kind: string
  readonly singular: string
  readonly namespaced: boolean
  /** Default: `STORED_VERBS`. A resource without `list` holds nothing (`bindings`, reviews). */
  readonly verbs?: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly subresources?: readonly Subresource[]
  /** Defined by a CustomResourceDefinition: list items carry kind and apiVersion, keys stand in alphabetical order. */
  readonly custom?: boolean
  /** Whether `metadata.generation` counts changes of the spec; default: for custom resources alone. */
  readonly generation?: boolean
  /** Turns the stored value into this version's shape; default: all versions of a resource have one shape. */
  readonly convert?: (value: JsonObject) => JsonObject
}

/** What a kube-apiserver announces for a resource it stores. */
export const STORED_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const

export function verbsOf(type: ResourceType): readonly string[] {
  return type.verbs ?? STORED_VERBS
}

/** Whether objects of it can be listed and watched here. */
export function isStored(type: ResourceType): boolean {
  return verbsOf(type).includes('list')
}

export function hasGeneration(type: ResourceType): boolean {
  return type.generation ?? type.custom ?? false
}

/** `apps/v1/Deployment`: how an object names its type. */
export function kindKey(apiVersion: string, kind: string): string {
  return `${apiVersion}/${kind}`
}

export const typeKey = {
  resource: (type: GroupVersionResource): string => gvrKey(type),
  storage: (type: GroupVersionResource): string => groupResourceKey(type),
  kind: (type: ResourceType): string => kindKey(apiVersionOf(type), type.kind),
}

/**
 * Which fields beyond those of a real API server can be selected by: `cluster`, and every path of the kind's schema. Declared
 * for those who answer reads, implemented over the members' OpenAPI documents.
 */
import type { JsonObject } from '../kube/columns/column.ts'
import type { GroupVersionKind } from '../kube/group-version.ts'

export interface FieldSource {
  /** Whether an object of that kind may have a value at the path; lists on the way are no step of their own. */
  exists(gvk: GroupVersionKind, path: readonly string[]): Promise<boolean>
}

/** Of a resource's objects, those of some clusters: `cluster=eu-1`, `cluster!=dev-*`. */
export const CLUSTER_FIELD = 'cluster'

/** Of the clusters that are there, those that are chosen and that the selection takes; undefined: all. */
export function selectedClusters<Name extends string>(
  present: Iterable<Name>,
  chosen: ReadonlySet<Name> | undefined,
  matches: ((cluster: string) => boolean) | undefined,
): ReadonlySet<Name> | undefined {
  return matches === undefined ? chosen : new Set([...(chosen ?? present)].filter(matches))
}

/** A cluster's name, `*` and `?` being wildcards; the exact name counts before any wildcard in it. */
export function clusterPattern(pattern: string): (cluster: string) => boolean {
  if (!/[*?]/.test(pattern)) return (cluster) => cluster === pattern
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replace(/\?/g, '.')
  const expression = new RegExp(`^${source}$`, 'u')
  return (cluster) => cluster === pattern || expression.test(cluster)
}

/** `spec.containers.image`, `metadata.annotations['a.b/c']`; undefined for what is no path. */
export function parseFieldPath(field: string): readonly string[] | undefined {
  const text = `.${field}`
  const steps = [...text.matchAll(/\.([^.[\]'"]+)|\[(?:'([^']*)'|"([^"]*)")\]/g)]
  if (steps.length === 0 || steps.map(([whole]) => whole).join('') !== text) return undefined
  return steps.map(([, name, single, double]) => name ?? single ?? double ?? '')
}

/** Every value at the path as text, lists flattened; none where the object lacks it. Maps and lists have no text. */
export function textsAt(object: JsonObject, path: readonly string[]): string[] {
  let values: unknown[] = [object]
  for (const step of path) {
    values = values
      .flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value]))
      .flatMap((value) => (isMap(value) && Object.hasOwn(value, step) ? [value[step]] : []))
  }
  return values
    .flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value]))
    .filter((value) => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    .map(String)
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

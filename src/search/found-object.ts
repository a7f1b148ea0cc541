/** The objects behind hits, as the cache has them, and what of them is shown. */
import type { CachedObject, ResourceReader } from '../cache/reader.ts'
import type { JsonObject } from '../kube/columns/column.ts'
import type { KindColumns } from '../kube/columns/index.ts'
import { groupResourceKey } from '../kube/group-version.ts'
import { parseExact } from '../kube/json-exact.ts'
import type { VersionMap } from '../kube/multi-cluster-version.ts'
import type { ClusterName } from '../kube/names.ts'
import { StatusError } from '../kube/status-error.ts'
import { fieldValues } from '../query/field-values.ts'
import type { SearchHit } from '../query/search-request.ts'
import { columnsOfResource } from './current-fields.ts'
import type { NamedField } from './parameters.ts'
import type { RowCell } from './row-format.ts'
import type { SearchParts } from './search-parts.ts'

export interface FoundObjects {
  /** Undefined where the object is gone, or another took its name. */
  of(hit: SearchHit): Promise<CachedObject | undefined>
  columns(hit: SearchHit): Promise<KindColumns | undefined>
}

/** As they are now. */
export function foundObjects(parts: SearchParts): FoundObjects {
  const read = (reader: ResourceReader, { cluster, namespace, name }: SearchHit): CachedObject | undefined =>
    reader.get(cluster as ClusterName, namespace, name)
  return objectsBy(parts, read)
}

/** As they are at this moment, for as long as the cache's window reaches: then `expired`. */
export function pinnedObjects(parts: SearchParts): FoundObjects {
  const pinned = new Map<string, VersionMap>()
  for (const reader of parts.cache.resources()) pinned.set(groupResourceKey(reader.gvr), reader.versions())
  return objectsBy(parts, (reader, { cluster, namespace, name }) => {
    const asOf = pinned.get(groupResourceKey(reader.gvr))
    if (asOf === undefined) return undefined
    if (!reader.covers(asOf)) throw new StatusError('expired', 'the snapshot is too old: the export took too long')
    const clusters = new Set([cluster as ClusterName])
    const snapshot = reader.snapshot({ clusters, namespace, name, limit: 1, asOf })
    return snapshot.length === 0 ? undefined : snapshot.at(0)
  })
}

function objectsBy(
  parts: SearchParts,
  read: (reader: ResourceReader, hit: SearchHit) => CachedObject | undefined,
): FoundObjects {
  const columns = new Map<string, Promise<KindColumns | undefined>>()
  return {
    of(hit) {
      const reader = parts.cache.resource(hit)
      const object = reader === undefined ? undefined : read(reader, hit)
      return Promise.resolve(object?.uid === hit.uid ? object : undefined)
    },
    columns(hit) {
      const key = groupResourceKey(hit)
      const known = columns.get(key)
      if (known !== undefined) return known
      const found = columnsOfResource(parts, { gvr: hit, kind: hit.kind })
      columns.set(key, found)
      return found
    },
  }
}

/** One value as it is, several as a list, none as null. */
export async function shownFields(
  objects: FoundObjects,
  hit: SearchHit,
  { bytes, resourceVersion }: CachedObject,
  fields: readonly NamedField[],
): Promise<RowCell[]> {
  const object = parseExact(bytes) as JsonObject
  const columns = await objects.columns(hit)
  return fields.map(({ field }) => {
    const values = fieldValues(field, object, { ...hit, resourceVersion }, columns).filter(
      (value) => value !== undefined,
    )
    return values.length > 1 ? values : (values[0] ?? null)
  })
}

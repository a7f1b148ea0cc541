/** An object where it stands: in a member, as cached, or in the control plane, as it was just read. */
import type { CachedObject, ResourceReader } from '../cache/reader.ts'
import { parseObject } from '../http/selection.ts'
import type { JsonObject } from '../kube/columns/column.ts'
import type { Subject } from './related-names.ts'

export type StandingResource = Pick<ResourceReader, 'gvr' | 'kind' | 'namespaced'>

export interface Standing {
  readonly reader: StandingResource
  readonly object: Pick<CachedObject, 'cluster' | 'namespace' | 'name' | 'uid'>
  json(): JsonObject
}

export function cachedStanding(reader: StandingResource, object: CachedObject): Standing {
  return { reader, object, json: () => parseObject(object.bytes) }
}

export function subjectOf({ reader, object }: Standing): Subject {
  return { group: reader.gvr.group, kind: reader.kind, namespace: object.namespace, name: object.name }
}

export function placeOf({ reader, object }: Standing): string {
  return placeText(object.cluster, reader.kind, object.namespace, object.name)
}

export function placeText(cluster: string, kind: string, namespace: string, name: string): string {
  return `${cluster}/${kind}/${namespace}/${name}`
}

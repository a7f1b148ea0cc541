/**
 * What has to arrive in a cache before it knows of a write: plain data, so that other replicas can be told of it.
 */
import type { ResourceReader } from '../../cache/reader.ts'
import type { GroupResource } from '../../kube/group-version.ts'
import { compareResourceVersions, type ClusterName, type ResourceVersion } from '../../kube/names.ts'

/**
 * `version` the shard, or that object in it, at this version or later · `gone` no object of that UID any more, in a cache that
 * has seen `version` (the object's last known one) · `unknown` nobody could find out: it never arrives, and is let go in time.
 */
export type Awaited =
  | { readonly kind: 'version'; readonly version: ResourceVersion; readonly namespace: string; readonly name: string }
  | {
      readonly kind: 'gone'
      readonly version: ResourceVersion
      readonly namespace: string
      readonly name: string
      readonly uid: string
    }
  | { readonly kind: 'unknown'; readonly namespace: string }

export interface Fence extends GroupResource {
  readonly cluster: ClusterName
  /** Another cluster of that name is none of its business. */
  readonly clusterUid: string
  /** Its namespace is empty for objects of none, and for what concerns all of them. */
  readonly awaited: Awaited
}

/** Also where there is nothing to wait for: the cluster is gone or another one, or does not show that namespace. */
export function hasArrived(reader: ResourceReader, { cluster, clusterUid, awaited }: Fence): boolean {
  const shard = reader.shards().find((each) => each.cluster === cluster)
  if (shard === undefined || shard.clusterUid !== clusterUid) return true
  const { namespace } = awaited
  if (namespace !== '' && shard.namespaces?.has(namespace) === false) return true
  if (awaited.kind === 'unknown' || shard.version === undefined) return false
  const reached = isAtLeast(shard.version, awaited.version)
  const object = awaited.name === '' ? undefined : reader.get(cluster, namespace, awaited.name)
  if (awaited.kind === 'version') {
    return reached || (object !== undefined && isAtLeast(object.resourceVersion, awaited.version))
  }
  return reached && object?.uid !== awaited.uid
}

/** False where nobody can tell: versions that are no numbers have no order. */
function isAtLeast(version: ResourceVersion, wanted: ResourceVersion): boolean {
  return (compareResourceVersions(version, wanted) ?? -1) >= 0
}

/** Longer than any name Kubernetes takes; a fence is kept in memory for a minute. */
const MAX_TEXT = 512

/** A fence that another replica tells of; undefined for what is none. */
export function decodeFence(value: unknown): Fence | undefined {
  const { group, resource, cluster, clusterUid, awaited } = record(value)
  const { kind, version = '', namespace, name = '', uid = '' } = record(awaited)
  const parts = [group, resource, cluster, clusterUid, version, namespace, name, uid]
  if (!parts.every((part) => typeof part === 'string' && part.length <= MAX_TEXT)) return undefined
  const common = { group, resource, cluster, clusterUid } as Omit<Fence, 'awaited'>
  switch (kind) {
    case 'version':
      return { ...common, awaited: { kind, version, namespace, name } as Awaited }
    case 'gone':
      return { ...common, awaited: { kind, version, namespace, name, uid } as Awaited }
    case 'unknown':
      return { ...common, awaited: { kind, namespace } as Awaited }
    default:
      return undefined
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

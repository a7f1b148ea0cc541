/** The write side: the controller's executor opens and drops shards, each shard's reflector writes into it. */
import type { GroupResource, GroupVersionResource } from '../kube/group-version.ts'
import type { ClusterName, ResourceVersion } from '../kube/names.ts'
import type { ReflectorStore, Replacement, WatchEventType } from '../informer/reflector-store.ts'

export interface ShardSpec {
  readonly cluster: ClusterName
  readonly clusterUid: string
  readonly gvr: GroupVersionResource
  readonly kind: string
  readonly namespaced: boolean
  /** What is taken out of its objects before they are kept (kube/redaction.ts). Default: nothing. */
  readonly redaction?: string | undefined
  /** Only objects of these namespaces are kept; undefined: all. */
  readonly namespaces?: ReadonlySet<string>
}

export interface ShardWriter extends ReflectorStore {
  /** Narrows at once (objects outside become DELETED events); what a wider scope brings comes with the next replace. */
  setNamespaces(namespaces: ReadonlySet<string> | undefined): void
  /**
   * As `beginReplace`, for the objects of one namespace alone: the others stay. `commit`'s version is the one the whole
   * shard stands at afterwards. For members that forbid lists over all namespaces: one reflector for each namespace
   * feeds the shard, which stands at the smallest of their versions.
   */
  beginNamespaceReplace(namespace: string): Replacement
  /**
   * As `apply`, but the shard stands at `version` afterwards, whatever the object's own version (which may be higher, and
   * events of different namespaces need not come in the order of their versions). Only an object not newer than the one
   * stored under its key is dropped.
   */
  applyAt(type: WatchEventType, object: Uint8Array, version: ResourceVersion): void
  /** Removes the shard; watchers whose map names its cluster get EXPIRED. */
  drop(): void
}

export interface CacheWriter {
  /** Declares a resource as registered, so that it answers (empty) before and without any shard. */
  register(gvr: GroupVersionResource, kind: string, namespaced: boolean, redaction?: string): void
  /** Nobody registers it any more; its shards are dropped. */
  unregister(groupResource: GroupResource): void
  openShard(spec: ShardSpec): ShardWriter
}

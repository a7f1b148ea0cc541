/**
 * The read side of the cache: what `proxy`, `search` and `backendstore` see.
 *
 * Contract:
 * - Everything handed out is bytes nobody may write to: canonical JSON (kube/canonical-object.ts) with `kind`,
 *   `apiVersion` and both cluster annotations, the member's own resourceVersion.
 * - A `Snapshot` never changes, whatever happens to the cache meanwhile, and costs a few bytes per object, not copies.
 * - Clusters are ordered by the bytes of their names, objects by the bytes of `namespace/name`.
 */
import type { GroupResource, GroupVersionResource } from '../kube/group-version.ts'
import type { LabelSelector } from '../kube/label-selector.ts'
import type { ClusterName, ObjectKey, ResourceVersion } from '../kube/names.ts'
import type { VersionMap } from '../kube/multi-cluster-version.ts'
import type { ReflectorState } from '../informer/reflector-store.ts'

export interface CachedObject {
  readonly cluster: ClusterName
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: ResourceVersion
  /** Canonical JSON; a view into the cache. */
  readonly bytes: Uint8Array
  /** Where the text of metadata.resourceVersion stands in `bytes`, quotes excluded. */
  readonly versionStart: number
  readonly versionEnd: number
}

export interface ShardState {
  readonly cluster: ClusterName
  readonly clusterUid: string
  readonly gvr: GroupVersionResource
  /** Has been listed at least once. A shard not yet synced has no objects and no version. */
  readonly synced: boolean
  readonly version: ResourceVersion | undefined
  readonly objects: number
  readonly bytes: number
  readonly reflector: ReflectorState
  /** Monotonic ms when the member last said anything about this resource; undefined before the first list. */
  readonly heardAtMs: number | undefined
  /** The registered namespaces; undefined means all. */
  readonly namespaces: ReadonlySet<string> | undefined
}

export interface SnapshotFilter {
  /** Only these clusters. */
  readonly clusters?: ReadonlySet<ClusterName>
  readonly namespace?: string
  readonly name?: string
  readonly labels?: LabelSelector
  /** Start behind this object (which need not exist any more). */
  readonly after?: { readonly cluster: ClusterName; readonly key: ObjectKey }
  /** At most so many objects; `remaining` tells how many are left. */
  readonly limit?: number
  /** More pages of the same state are to follow, by `asOf` the versions of this one. */
  readonly isPaged?: boolean
  /**
   * As the shards were at these versions, of which `covers` holds; only these clusters. Default: as they are now.
   * `remaining` may then count objects that the labels would not have taken.
   */
  readonly asOf?: VersionMap
}

export interface Snapshot {
  readonly length: number
  /** Objects that `limit` cut off and the filter would have taken; 0 without a limit. */
  readonly remaining: number
  /** Versions of every synced cluster in the filter, with or without objects. */
  readonly versions: VersionMap
  at(index: number): CachedObject
  /** The bytes alone, without making an object: for lists. */
  bytesAt(index: number): Uint8Array
}

/** One change, shared by all watchers: renderers may key a WeakMap by it. */
export interface CacheEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: CachedObject
  /** What it replaced (MODIFIED) or removed (DELETED: the last state known before the event); for selectors. */
  readonly previous: CachedObject | undefined
  /** The version map of all synced clusters after this event, of the whole resource: the same object for every watcher. */
  readonly versions: VersionMap
}

/**
 * What a watcher reads, in order. `versions` on an event is what that watcher has seen after it; while a watcher catches
 * up it may differ from `event.versions`.
 */
export type WatchItem =
  | { readonly type: 'EVENT'; readonly event: CacheEvent; readonly versions: VersionMap }
  /** An object that the watcher's map did not cover (its cluster joined, or the watch began without a version). */
  | { readonly type: 'INITIAL'; readonly object: CachedObject; readonly versions: VersionMap }
  /** All INITIAL items of the start have been delivered (sent once, also when there were none). */
  | { readonly type: 'INITIAL_END'; readonly versions: VersionMap }
  /** Versions moved without an event of this resource, or a quiet minute passed. */
  | { readonly type: 'BOOKMARK'; readonly versions: VersionMap }
  /** The watch cannot go on: fell behind the window, a cluster left or was replaced. The last item. */
  | { readonly type: 'EXPIRED'; readonly message: string }

export interface WatchOptions {
  /** Resume behind these versions; undefined: start with the present content as INITIAL items. */
  readonly from?: VersionMap
  readonly clusters?: ReadonlySet<ClusterName>
  /** Only objects of this namespace / of this name are delivered. Selectors are the caller's. */
  readonly namespace?: string
  readonly name?: string
  /**
   * Called once, at once, when nothing but EXPIRED is left to deliver, so that a writer which waits for a slow peer
   * (and asks for no more items) can give up.
   */
  readonly onExpired?: (message: string) => void
  readonly signal: AbortSignal
}

/** All clusters' objects of one resource. */
export interface ResourceReader {
  readonly gvr: GroupVersionResource
  readonly kind: string
  readonly namespaced: boolean
  /** Values are missing from its objects: they are shown with a marker, and are not what a member would show. */
  readonly redacted?: boolean
  /** In the byte order of the clusters' names. */
  shards(): readonly ShardState[]
  /** Versions of all synced shards. */
  versions(): VersionMap
  /** False where a watch from these versions would be told EXPIRED: a list pinned to them is of no use any more. */
  covers(versions: VersionMap): boolean
  get(cluster: ClusterName, namespace: string, name: string): CachedObject | undefined
  snapshot(filter: SnapshotFilter): Snapshot
  /**
   * Batches of items. A version below the window, of a cluster that left, or of a cluster whose store stands lower than
   * it for longer than 5 s, yields EXPIRED. Ends (without EXPIRED) when the signal aborts. A consumer that is slower
   * than the window is cut with EXPIRED, it never holds memory beyond the window.
   */
  watch(options: WatchOptions): AsyncIterable<readonly WatchItem[]>
}

export interface CacheListener {
  /** One object changed; the listener reads it when it wants to. `uid` is the object's (before its deletion). */
  changed?(
    resource: ResourceReader,
    cluster: ClusterName,
    namespace: string,
    name: string,
    uid: string,
    deleted: boolean,
  ): void
  /** A shard was listed for the first time, or again with `changed` calls for each difference before it. */
  synced?(resource: ResourceReader, cluster: ClusterName): void
  /** A shard is gone with all its objects (cluster or registry removed); no `changed` calls are made for them. */
  dropped?(resource: ResourceReader, cluster: ClusterName): void
}

export interface CacheReader {
  /** Resources that are registered, cached by any cluster or not. */
  resources(): readonly ResourceReader[]
  /** By group and resource: at most one version of a resource is cached. */
  resource(groupResource: GroupResource): ResourceReader | undefined
  onChange(listener: CacheListener): () => void
}

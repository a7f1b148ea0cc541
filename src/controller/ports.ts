/**
 * What the controller needs of others, declared here as the subset it uses. `app/` joins: registries come from
 * `registry/`, the writer is the cache's, reflectors are the informer's (http-reflector-runner.ts).
 */
import type { ResourceRegistry } from '../api/resource-registry.ts'
import type { Member } from '../fleet/member.ts'
import type { ReflectorStore, Replacement, WatchEventType } from '../informer/reflector-store.ts'
import type { GroupResource, GroupVersionResource } from '../kube/group-version.ts'
import type { ClusterName, ResourceVersion } from '../kube/names.ts'

/** The registries as they stand, kept current by someone else. */
export interface RegistrySource {
  /** False until they have been read once; `current` means nothing before. */
  readonly synced: boolean
  current(): readonly ResourceRegistry[]
  /** Called after each change, and once when `synced` becomes true. Returns how to stop listening. */
  onChange(listener: () => void): () => void
}

export interface ShardSpec {
  readonly cluster: ClusterName
  readonly clusterUid: string
  readonly gvr: GroupVersionResource
  readonly kind: string
  readonly namespaced: boolean
  /** What is taken out of its objects (kube/redaction.ts). Default: nothing. */
  readonly redaction?: string | undefined
  /** Only objects of these namespaces are kept; undefined: all. */
  readonly namespaces?: ReadonlySet<string>
}

/** The write side of one (cluster, resource). */
export interface Shard extends ReflectorStore {
  /** Narrows at once; what a wider scope brings comes with the next replace. */
  setNamespaces(namespaces: ReadonlySet<string> | undefined): void
  /** A replacement of one namespace's objects; `commit`'s version is the whole shard's. */
  beginNamespaceReplace(namespace: string): Replacement
  /** As `apply`, but the shard stands at `version` afterwards. */
  applyAt(type: WatchEventType, object: Uint8Array, version: ResourceVersion): void
  drop(): void
}

export interface Cache {
  /** From now on the resource is answered from the cache, with or without any shard. */
  register(gvr: GroupVersionResource, kind: string, namespaced: boolean, redaction?: string): void
  unregister(groupResource: GroupResource): void
  openShard(spec: ShardSpec): Shard
}

/**
 * Runs one reflector until the signal aborts, then resolves soon. The member's faults go to `store.report` and are retried
 * inside; a rejection is a fault of ours. `namespace` undefined: all namespaces.
 */
export type RunReflector = (
  member: Member,
  target: { readonly gvr: GroupVersionResource; readonly namespace?: string },
  store: ReflectorStore,
  signal: AbortSignal,
) => Promise<void>

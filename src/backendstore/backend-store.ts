/**
 * The mirror of the cache in a search engine: what the bulk writer writes to and queries read from.
 *
 * Contract:
 * - A document is one object of one cluster; (cluster, group, resource, namespace, name) names it. An upsert replaces
 *   whatever stood under that name, also an object of another UID.
 * - A batch is applied in its order and, where `capabilities.atomicBatches`, whole or not at all. A batch that rejects may
 *   be written again: writing the same twice changes nothing.
 * - Without `capabilities.atomicBatches` each change has its own outcome: `deferred` ones are given again, the rest is done.
 * - A write that arrives late loses: an upsert against a newer version of the same object, and against a delete that
 *   states a newer version. Losing counts as `unchanged`. `force` writes whatever stands there.
 * - Every call ends: what the store does not answer rejects after a while with code `unreachable`.
 * - Once `write` resolves, searches that begin later see it.
 * - An embedded store keeps no object's body; one in an engine keeps what karmada-search's documents have (spec and status).
 *   Nothing of a Secret's values ever reaches a store, nor of one inside of another object.
 */
import type { NativeSearch } from '../query/native-search.ts'
import type { SearchStore } from '../query/search-request.ts'

/** One resource of one cluster. */
export interface ShardIdentity {
  readonly cluster: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
}

export interface ObjectName {
  readonly namespace: string
  readonly name: string
}

export interface Upsert extends ShardIdentity, ObjectName {
  readonly type: 'upsert'
  readonly uid: string
  readonly resourceVersion: string
  /** Canonical JSON, valid during the call only: the store copies it. */
  readonly bytes: Uint8Array
  /** A comparison found something else in the store: the version there says nothing (a member was restored). */
  readonly force?: boolean
}

export interface Delete extends ShardIdentity, ObjectName {
  readonly type: 'delete'
  /** Where the cache stood when the object was gone: no version of the object is newer. Undefined: not known. */
  readonly resourceVersion?: string
  readonly force?: boolean
}

export type Change = Upsert | Delete

/** What became of the changes of a batch. */
export interface WriteSummary {
  readonly written: number
  readonly deleted: number
  /** Already stood there as they are, or were not there to be deleted. */
  readonly unchanged: number
  /** Refused for good: the object is at fault. */
  readonly rejected: readonly RefusedChange[]
  /** Refused for now (429, 503 and the like of one item): to be given again after a pause. Default: none. */
  readonly deferred?: readonly RefusedChange[]
}

export interface RefusedChange extends ShardIdentity, ObjectName {
  /** For people: what the store said. No bodies, no credentials. */
  readonly reason: string
}

export interface ManifestEntry extends ObjectName {
  readonly uid: string
  readonly resourceVersion: string
}

/** A whole shard in two numbers: equal where the same objects stand there in the same versions (`digest.ts`). */
export interface ShardDigest {
  /** 0: nothing stands there, whatever its version. */
  readonly objects: number
  /** Sum of the entries' hashes, exact below 2^53: two million objects of one shard. */
  readonly hashSum: number
}

export interface StoredShard {
  readonly cluster: string
  readonly group: string
  readonly resource: string
  readonly objects: number
}

export interface StoreCapabilities {
  /** A batch that rejects has changed nothing. */
  readonly atomicBatches: boolean
  /** Several replicas write to the same store, so only one of them may. */
  readonly shared: boolean
}

export interface BackendStoreWriter {
  readonly name: string
  readonly capabilities: StoreCapabilities
  /** Rejects with `BackendStoreError`. */
  write(batch: readonly Change[]): Promise<WriteSummary>
  /** The names that the store lacks, has in another version, or has though the manifest does not name them. */
  compare(shard: ShardIdentity, manifest: AsyncIterable<readonly ManifestEntry[]>): Promise<readonly ObjectName[]>
  /**
   * Cheap, asked before `compare`. Undefined, like a store without it: shards are compared by name. A store that has it
   * keeps versions, and is compared again when what was found is written.
   */
  digest?(shard: ShardIdentity): Promise<ShardDigest | undefined>
  /** Removes all documents of one resource of one cluster. */
  dropShard(shard: Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>): Promise<void>
  shards(): Promise<readonly StoredShard[]>
  /** Removes all documents, and what held them; a store without it is emptied shard by shard. */
  clear?(): Promise<void>
}

export interface BackendStore extends BackendStoreWriter, SearchStore {
  /** Of stores in engines alone. */
  readonly native?: NativeSearch
  /** Bytes it occupies. */
  size(): Promise<number>
  /** Waits for what is running, then lets go of everything. Later calls reject with code `closed`. */
  close(): Promise<void>
}

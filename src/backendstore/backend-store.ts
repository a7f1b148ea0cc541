/**
 * The mirror of the cache in a search engine: what the bulk writer writes to and queries read from.
 *
 * Contract:
 * - A document is one object of one cluster; (cluster, group, resource, namespace, name) names it. An upsert replaces
 *   whatever stood under that name, also an object of another UID.
 * - A batch is applied in its order and, where `capabilities.atomicBatches`, whole or not at all. A batch that rejects may
 *   be written again: writing the same twice changes nothing.
 * - Once `write` resolves, searches that begin later see it.
 * - No object's body is kept, and nothing of a Secret's values ever reaches the store.
 */
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
}

export interface Delete extends ShardIdentity, ObjectName {
  readonly type: 'delete'
}

export type Change = Upsert | Delete

/** What became of the changes of a batch. */
export interface WriteSummary {
  readonly written: number
  readonly deleted: number
  /** Already stood there as they are, or were not there to be deleted. */
  readonly unchanged: number
  /** Refused for good: the object is at fault. */
  readonly rejected: readonly (ObjectName & ShardIdentity & { readonly reason: string })[]
}

export interface ManifestEntry extends ObjectName {
  readonly uid: string
  readonly resourceVersion: string
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
  /** Removes all documents of one resource of one cluster. */
  dropShard(shard: Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>): Promise<void>
  shards(): Promise<readonly StoredShard[]>
}

export interface BackendStore extends BackendStoreWriter, SearchStore {
  /** Bytes it occupies. */
  size(): Promise<number>
  /** Waits for what is running, then lets go of everything. Later calls reject with code `closed`. */
  close(): Promise<void>
}

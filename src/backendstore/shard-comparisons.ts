/**
 * Comparisons of shards with the store: first by their sums where the store keeps them, then by name. What differs is noted
 * as changed. A store that keeps versions may not take what it holds to be older: where a second comparison, made when the
 * first one's findings are written, finds the same names again, they are forced.
 */
import type { CacheReader } from '../cache/reader.ts'
import { objectKey, type ObjectKey } from '../kube/names.ts'
import type { BackendStoreWriter, ObjectName } from './backend-store.ts'
import type { StoreMetrics } from './bulk-metrics.ts'
import { digestOf } from './digest.ts'
import { identityOf, manifestOf } from './manifest.ts'
import { refOf, shardId, type PendingChanges, type ShardRef } from './pending-changes.ts'
import type { ShardScope, StoreScope } from './store-scope.ts'

/** Names remembered of a first comparison; where more differ, the store was simply not told. */
const MAX_SUSPECTS = 10_000

export interface ShardComparisonsOptions {
  readonly cache: CacheReader
  readonly store: BackendStoreWriter
  readonly metrics: StoreMetrics
  readonly pending: PendingChanges
  readonly scope: () => StoreScope
}

export class ShardComparisons {
  readonly #options: ShardComparisonsOptions
  readonly #due = new Map<string, ShardRef>()
  /** What a first comparison found, by `shardId`. */
  readonly #suspects = new Map<string, ReadonlySet<ObjectKey>>()
  /** One is under way. */
  #comparing = false
  /** One found differences that are not all written. */
  #catchingUp = false

  constructor(options: ShardComparisonsOptions) {
    this.#options = options
  }

  get due(): boolean {
    return this.#due.size > 0
  }

  /** Nothing is to be compared, and what was found is written. */
  get idle(): boolean {
    return this.#due.size === 0 && !this.#comparing && !this.#catchingUp
  }

  later(shard: ShardRef): void {
    this.#due.set(shardId(shard), refOf(shard))
  }

  forget(shard: ShardRef): void {
    this.#due.delete(shardId(shard))
    this.#suspects.delete(shardId(shard))
  }

  /** All that was found is written. */
  settled(): void {
    this.#catchingUp = false
  }

  /** Compares until there is something to write. Rejects as the store does; what was not compared stays due. */
  async next(): Promise<void> {
    for (const [id, shard] of this.#due) {
      this.#comparing = true
      this.#due.delete(id)
      try {
        await this.#compare(id, shard)
      } catch (error) {
        this.#due.set(id, shard)
        throw error
      } finally {
        this.#comparing = false
      }
      if (this.#options.pending.size > 0) return
    }
  }

  async #compare(id: string, { resource, cluster }: ShardRef): Promise<void> {
    const { cache, metrics, pending, store } = this.#options
    const current = cache.resource(resource.gvr)
    const state = current?.shards().find((candidate) => candidate.cluster === cluster)
    const scope = this.#options.scope().of(cluster, resource.gvr)
    if (current === undefined || state?.synced !== true || scope === undefined) return
    const shard = { resource: current, cluster }
    const suspects = this.#suspects.get(id)
    this.#suspects.delete(id)
    if (await this.#isEqual(shard, scope)) return metrics.compared(store.name, 'equal')
    const names = await store.compare(identityOf(shard), manifestOf(shard, scope))
    metrics.compared(store.name, 'named')
    if (names.length > 0) this.#catchingUp = true
    for (const { namespace, name } of names) {
      // What finds no room is found by the next comparison.
      if (pending.isFull) return this.later(shard)
      pending.add(shard, namespace, name, suspects?.has(objectKey(namespace, name)) === true)
    }
    if (suspects === undefined && names.length > 0) this.#verifyLater(id, shard, names)
  }

  async #isEqual(shard: ShardRef, scope: ShardScope): Promise<boolean> {
    const theirs = await this.#options.store.digest?.(identityOf(shard))
    if (theirs === undefined) return false
    const ours = await digestOf(manifestOf(shard, scope))
    return theirs.objects === ours.objects && theirs.hashSum === ours.hashSum
  }

  #verifyLater(id: string, shard: ShardRef, names: readonly ObjectName[]): void {
    if (this.#options.store.digest === undefined) return
    const suspects = names.length > MAX_SUSPECTS ? [] : names
    this.#suspects.set(id, new Set(suspects.map(({ namespace, name }) => objectKey(namespace, name))))
    this.later(shard)
  }
}

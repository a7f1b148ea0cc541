/**
 * Comparisons of shards with the store: first by their sums where the store keeps them, then by name. What differs is noted
 * as changed. A store that keeps versions may not take what it holds to be older: where a second comparison, made when the
 * first one's findings are written, finds the same names again, they are forced.
 */
import type { CacheReader } from '../cache/reader.ts'
import { objectKey, type ObjectKey } from '../kube/names.ts'
import type { Clock } from '../util/clock.ts'
import type { BackendStoreWriter, ObjectName, ShardDigest } from './backend-store.ts'
import type { StoreMetrics } from './bulk-metrics.ts'
import { digestOf } from './digest.ts'
import { identityOf, manifestOf } from './manifest.ts'
import { refOf, shardId, type PendingChanges, type ShardRef } from './pending-changes.ts'
import type { StoreScope } from './store-scope.ts'

/** Names remembered of a first comparison; where more differ, the store was simply not told. */
const MAX_SUSPECTS = 10_000

/**
 * What comparisons find is collected for so long, so that a fleet of many small shards is written in few batches: an engine
 * that shows a batch to the next comparison first makes a segment of it.
 */
const COLLECT_MS = 500

export interface ShardComparisonsOptions {
  readonly cache: CacheReader
  readonly store: BackendStoreWriter
  readonly metrics: StoreMetrics
  readonly pending: PendingChanges
  readonly clock: Clock
  /** Of a batch, at most. */
  readonly batchObjects: number
  readonly scope: () => StoreScope
}

export class ShardComparisons {
  readonly #options: ShardComparisonsOptions
  readonly #due = new Map<string, ShardRef>()
  /** What a first comparison found, by `shardId`. */
  readonly #suspects = new Map<string, ReadonlySet<ObjectKey>>()
  /** Redacted shards whose documents were made since this process began: older ones may tell more. */
  readonly #rewritten = new Set<string>()
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
    this.#rewritten.delete(shardId(shard))
  }

  /** All that was found is written. */
  settled(): void {
    this.#catchingUp = false
  }

  /** Compares until there is a batch to write, or a part of one and some time has passed. Rejects as the store does; what was not compared stays due. */
  async next(): Promise<void> {
    const { clock, pending, batchObjects } = this.#options
    const startedMs = clock.monotonicMs()
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
      const late = clock.monotonicMs() - startedMs >= COLLECT_MS
      if (pending.size >= (late ? 1 : batchObjects)) return
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
    if (current.redacted === true && !this.#rewritten.has(id)) {
      await store.dropShard(identityOf(shard))
      this.#rewritten.add(id)
    }
    const theirs = await store.digest?.(identityOf(shard))
    if (theirs !== undefined && isEqual(theirs, await digestOf(manifestOf(shard, scope)))) {
      return metrics.compared(store.name, 'equal')
    }
    // Where nothing is there, nothing need be read: a new engine is filled in a tenth of the requests.
    const names =
      theirs?.objects === 0
        ? (await Array.fromAsync(manifestOf(shard, scope))).flat()
        : await store.compare(identityOf(shard), manifestOf(shard, scope))
    metrics.compared(store.name, 'named')
    if (names.length > 0) this.#catchingUp = true
    for (const { namespace, name } of names) {
      // What finds no room is found by the next comparison.
      if (pending.isFull) return this.later(shard)
      pending.add(shard, namespace, name, suspects?.has(objectKey(namespace, name)) === true)
    }
    if (suspects === undefined && names.length > 0) this.#verifyLater(id, shard, names)
  }

  #verifyLater(id: string, shard: ShardRef, names: readonly ObjectName[]): void {
    if (this.#options.store.digest === undefined) return
    const suspects = names.length > MAX_SUSPECTS ? [] : names
    this.#suspects.set(id, new Set(suspects.map(({ namespace, name }) => objectKey(namespace, name))))
    this.later(shard)
  }
}

function isEqual(a: ShardDigest, b: ShardDigest): boolean {
  return a.objects === b.objects && a.hashSum === b.hashSum
}

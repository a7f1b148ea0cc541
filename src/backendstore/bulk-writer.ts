/**
 * Keeps a backend store equal to the part of the cache that it is to mirror.
 *
 * Contract:
 * - The cache is never made to wait: changes are noted by name and folded, objects are read when their batch is made, so
 *   what is written is what is true then. Memory is bounded (`PendingChanges`, a few batches under way).
 * - What fails is tried again after a growing pause, for as long as it takes: a whole batch, or the changes that the store
 *   put off. What the store refuses for good becomes a dead letter.
 * - After a shard's list, after an overflow and now and then, store and cache are compared (`ShardComparisons`) and the
 *   differences written: deletes that were missed go, nothing live is lost, what is unchanged is not written.
 * - A shard that is dropped or leaves the scope loses its documents; one whose member is unreachable keeps them.
 */
import { every } from '../util/every.ts'
import { sleep } from '../util/sleep.ts'
import { Attempts } from './attempts.ts'
import type { RefusedChange } from './backend-store.ts'
import { makeBatch, type Batch } from './batch.ts'
import { BatchOutcomes, nameId } from './batch-outcomes.ts'
import { BatchSize } from './batch-size.ts'
import { DEFAULT_BULK_LIMITS, type BulkLimits, type BulkWriterOptions, type BulkWriterStatus } from './bulk-options.ts'
import { BackendStoreError } from './errors.ts'
import { identityOf } from './manifest.ts'
import { PendingChanges, type PendingName, type ShardRef } from './pending-changes.ts'
import { ShardComparisons } from './shard-comparisons.ts'
import { ShardRemovals } from './shard-removals.ts'
import { EVERYTHING, isInScope, isSameScope, NOTHING, type StoreScope } from './store-scope.ts'

/** After so many batches a comparison has its turn: a fleet that changes all the time always has something to write. */
const BATCHES_IN_ROW = 16

/** Shards of the store that the cache does not know are left alone until members have had time to be found. */
const PURGE_AFTER_MS = 120_000

export class BulkWriter {
  readonly #options: BulkWriterOptions
  readonly #limits: BulkLimits
  readonly #pending: PendingChanges
  readonly #comparisons: ShardComparisons
  readonly #removals: ShardRemovals
  readonly #attempts: Attempts
  readonly #outcomes: BatchOutcomes
  readonly #batchSize: BatchSize
  readonly #inFlight = new Set<Promise<void>>()
  readonly #idle = new Set<() => void>()
  #scope: StoreScope
  #wake: (() => void) | undefined
  #running = false
  /** Batches since the last comparison. */
  #batches = 0
  #behindSinceMs: number | undefined

  constructor(options: BulkWriterOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_BULK_LIMITS, ...options.limits }
    this.#scope = options.scope ?? EVERYTHING
    this.#pending = new PendingChanges(this.#limits.pendingNames)
    this.#batchSize = new BatchSize(this.#limits.batchObjects)
    const parts = { ...options, name: this.#name, scope: () => this.#scope, shards: () => this.#shards() }
    this.#comparisons = new ShardComparisons({ ...parts, ...this.#limits, pending: this.#pending })
    this.#removals = new ShardRemovals(parts)
    this.#attempts = new Attempts({ ...parts, retryMs: this.#limits.retryMs })
    this.#outcomes = new BatchOutcomes(parts)
    options.metrics.add(this.#name, {
      pending: () => this.#pending.size,
      lagSeconds: () => this.status().lagMs / 1_000,
      healthy: () => this.#attempts.failure === undefined,
      deadLetters: () => options.letters.count(this.#name),
    })
  }

  get #name(): string {
    return this.#options.store.name
  }

  /** Changes that wait to be written, by cluster. */
  waiting(): ReadonlyMap<string, number> {
    return this.#pending.byCluster()
  }

  status(): BulkWriterStatus {
    const lagMs = this.#behindSinceMs === undefined ? 0 : this.#options.clock.monotonicMs() - this.#behindSinceMs
    return { pending: this.#pending.size, complete: this.#comparisons.idle, lagMs, failure: this.#attempts.failure }
  }

  /** Resolves as soon as the store has all that the cache has; at once where this does not run. */
  async caughtUp(): Promise<void> {
    if (this.#behindSinceMs !== undefined) await new Promise<void>((resolve) => this.#idle.add(resolve))
  }

  /** What leaves the scope leaves the store, what comes into it is written. */
  rescope(scope: StoreScope): void {
    const before = this.#scope
    this.#scope = scope
    this.#removals.keep()
    if (!this.#running) return
    for (const shard of this.#shards()) {
      const now = scope.of(shard.cluster, shard.resource.gvr)
      if (isSameScope(before.of(shard.cluster, shard.resource.gvr), now)) continue
      if (now === undefined) this.#drop(shard)
      else if (isSynced(shard)) this.#compareLater(shard)
    }
  }

  /** Takes everything out of the store, also what others put there. `caughtUp` tells when that is done. */
  empty(): void {
    this.#scope = NOTHING
    this.#removals.empty()
    this.#behind()
  }

  /** `empty` was asked for, and is done. */
  get isEmpty(): boolean {
    return this.#removals.isEmpty
  }

  /** Something changed that the store may have failed for: its address, its credentials. */
  retryNow(): void {
    this.#attempts.retryNow()
  }

  /** Compares all shards with the store, as is done now and then. */
  compareAll(): void {
    for (const shard of this.#shards()) if (isSynced(shard)) this.#compareLater(shard)
  }

  /** Gives an object again that the store refused. */
  replay({ cluster, group, resource, namespace, name }: Omit<RefusedChange, 'reason'>): void {
    const current = this.#options.cache.resource({ group, resource })
    if (current === undefined) return this.#options.letters.removeShard(this.#name, { cluster, group, resource })
    this.#changed({ resource: current, cluster: cluster as ShardRef['cluster'] }, namespace, name)
  }

  /** Resolves when `signal` aborts and what is under way has ended. Never rejects. May be run again afterwards. */
  async run(signal: AbortSignal): Promise<void> {
    this.#running = true
    const stopListening = this.#options.cache.onChange({
      changed: (resource, cluster, namespace, name) => this.#changed({ resource, cluster }, namespace, name),
      synced: (resource, cluster) => this.#compareLater({ resource, cluster }),
      dropped: (resource, cluster) => this.#drop({ resource, cluster }),
    })
    const wake = (): void => this.#wake?.()
    signal.addEventListener('abort', wake, { once: true })
    this.compareAll()
    const stopTimers = [
      every(this.#limits.reconcileMs, this.#options.clock, () => this.#reconcile()),
      every(PURGE_AFTER_MS, this.#options.clock, () => this.#firstPurge()),
    ]
    while (!signal.aborted) await this.#step(signal)
    for (const stop of [stopListening, ...stopTimers]) stop()
    signal.removeEventListener('abort', wake)
    await Promise.all(this.#inFlight)
    this.#forget()
  }

  /** One piece of work, or a wait for some. */
  async #step(signal: AbortSignal): Promise<void> {
    if (this.#attempts.paused) await this.#attempts.pause(this.#inFlight, signal)
    if (signal.aborted) return
    if (this.#removals.due) return this.#remove()
    if (this.#inFlight.size >= this.#limits.inFlight) return Promise.race(this.#inFlight)
    const turn = this.#comparisons.due && this.#batches >= BATCHES_IN_ROW
    if (!turn && this.#pending.size > 0 && (await this.#writeNext(signal))) return
    if (this.#inFlight.size > 0) return Promise.race(this.#inFlight)
    if (this.#comparisons.due) return this.#compare()
    if (signal.aborted) return // while it waited for more to write: nothing would wake it any more
    this.#upToDate()
    await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#wake = undefined
  }

  /** False where nothing could be begun: the signal aborted, or all that is pending is under way. */
  async #writeNext(signal: AbortSignal): Promise<boolean> {
    // Not between the first lists of many small shards: each would wait.
    const alone = this.#inFlight.size === 0 && !this.#comparisons.due
    if (alone && this.#pending.size < this.#batchSize.objects) {
      await sleep(this.#limits.lingerMs, this.#options.clock, signal).catch(() => undefined)
    }
    if (signal.aborted) return false
    const bounds = { objects: this.#batchSize.objects, bytes: this.#limits.batchBytes }
    const batch = makeBatch(this.#pending.take(), this.#options.cache, this.#scope, bounds)
    if (batch.names.length === 0) return false
    this.#batches++
    const writing = this.#attempts.make(() => this.#write(batch))
    this.#inFlight.add(writing)
    void writing.then(() => this.#inFlight.delete(writing))
    return true
  }

  async #write(batch: Batch): Promise<void> {
    const { clock, metrics, store } = this.#options
    const startedMs = clock.monotonicMs()
    this.#pending.begin(batch.names)
    let putOff: ReadonlySet<string> | undefined
    try {
      putOff = this.#outcomes.settle(batch, await store.write(batch.changes))
    } finally {
      this.#pending.end(batch.names)
      metrics.batch(this.#name, (clock.monotonicMs() - startedMs) / 1_000)
      if (putOff?.size === 0) this.#batchSize.grow()
      else this.#giveAgain(batch.names, putOff)
    }
    if (putOff.size > 0) throw new BackendStoreError('overloaded', `the store put off ${putOff.size} changes`)
  }

  /** Those put off; without them: all. */
  #giveAgain(names: readonly PendingName[], putOff: ReadonlySet<string> | undefined): void {
    this.#batchSize.shrink()
    for (const { namespace, name, force, ...shard } of names) {
      const id = nameId({ ...identityOf(shard), namespace, name })
      if (putOff?.has(id) !== false) this.#note(shard, namespace, name, force)
    }
  }

  #compare(): Promise<void> {
    this.#batches = 0
    return this.#attempts.make(() => this.#comparisons.next())
  }

  async #remove(): Promise<void> {
    await Promise.all(this.#inFlight)
    await this.#attempts.make(() => this.#removals.carryOut())
  }

  #changed(shard: ShardRef, namespace: string, name: string): void {
    if (isInScope(this.#scope.of(shard.cluster, shard.resource.gvr), namespace))
      this.#note(shard, namespace, name, false)
  }

  #note(shard: ShardRef, namespace: string, name: string, force: boolean): void {
    if (!this.#pending.add(shard, namespace, name, force)) this.#comparisons.later(shard)
    this.#behind()
  }

  #compareLater(shard: ShardRef): void {
    if (this.#scope.of(shard.cluster, shard.resource.gvr) === undefined) return
    this.#comparisons.later(shard)
    this.#behind()
  }

  #drop(shard: ShardRef): void {
    this.#pending.forget(shard)
    this.#comparisons.forget(shard)
    this.#removals.add(shard)
    this.#behind()
  }

  #reconcile(): void {
    this.compareAll()
    if (this.#options.known?.() !== false) this.#purgeNow()
  }

  /** True as soon as it was done: what leaves later is told, and looked for at each `#reconcile`. */
  #firstPurge(): boolean {
    if (this.#options.known?.() === false) return false
    this.#purgeNow()
    return true
  }

  #purgeNow(): void {
    this.#removals.purge()
    this.#behind()
  }

  #behind(): void {
    this.#behindSinceMs ??= this.#options.clock.monotonicMs()
    this.#wake?.()
  }

  #upToDate(): void {
    this.#behindSinceMs = undefined
    this.#comparisons.settled()
    for (const resolve of this.#idle) resolve()
    this.#idle.clear()
  }

  /** Whoever runs next compares everything anyway. */
  #forget(): void {
    this.#running = false
    for (const shard of this.#shards()) {
      this.#pending.forget(shard)
      this.#comparisons.forget(shard)
    }
    this.#removals.forget()
    this.#attempts.forget()
    this.#upToDate()
  }

  *#shards(): Generator<ShardRef> {
    for (const resource of this.#options.cache.resources()) {
      for (const { cluster } of resource.shards()) yield { resource, cluster }
    }
  }
}

function isSynced({ resource, cluster }: ShardRef): boolean {
  return resource.shards().some((shard) => shard.cluster === cluster && shard.synced)
}

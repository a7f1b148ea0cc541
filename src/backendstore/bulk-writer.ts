/**
 * Keeps a backend store equal to the part of the cache that it is to mirror.
 *
 * Contract:
 * - The cache is never made to wait: changes are noted by name and folded, objects are read when their batch is made, so
 *   what is written is what is true then. Memory is bounded (`PendingChanges`, two batches under way).
 * - What fails is tried again after a growing pause, for as long as it takes: a whole batch, or the changes that the store
 *   put off. What the store refuses for good becomes a dead letter.
 * - After a shard's list, after an overflow and now and then, store and cache are compared (`ShardComparisons`) and the
 *   differences written: deletes that were missed go, nothing live is lost, what is unchanged is not written.
 * - A shard that is dropped or leaves the scope loses its documents; one whose member is unreachable keeps them.
 */
import { gvrKey } from '../kube/group-version.ts'
import { sleep } from '../util/sleep.ts'
import type { Change, RefusedChange, ShardIdentity, WriteSummary } from './backend-store.ts'
import { makeBatch, type Batch } from './batch.ts'
import { BatchSize } from './batch-size.ts'
import { DEFAULT_BULK_LIMITS, type BulkLimits, type BulkWriterOptions, type BulkWriterStatus } from './bulk-options.ts'
import { BackendStoreError, isBackendStoreError } from './errors.ts'
import { identityOf } from './manifest.ts'
import { PendingChanges, shardId, type PendingName, type ShardRef } from './pending-changes.ts'
import { ShardComparisons } from './shard-comparisons.ts'
import { EVERYTHING, isInScope, isSameScope, NOTHING, type StoreScope } from './store-scope.ts'

/** Batches under way: while the store writes one, the next is made. */
const IN_FLIGHT = 2

/** Shards of the store that the cache does not know are left alone until members have had time to be found. */
const PURGE_AFTER_MS = 120_000

export class BulkWriter {
  readonly #options: BulkWriterOptions
  readonly #limits: BulkLimits
  readonly #pending: PendingChanges
  readonly #comparisons: ShardComparisons
  readonly #batchSize: BatchSize
  readonly #toDrop = new Map<string, ShardIdentity>()
  readonly #inFlight = new Set<Promise<void>>()
  readonly #idle = new Set<() => void>()
  #scope: StoreScope
  #wake: (() => void) | undefined
  #skipPause: (() => void) | undefined
  #running = false
  #behindSinceMs: number | undefined
  #failure: BackendStoreError | undefined
  #failures = 0
  #purge = false
  /** The purge is of all there is. */
  #emptying = false
  #empty = false

  constructor(options: BulkWriterOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_BULK_LIMITS, ...options.limits }
    this.#scope = options.scope ?? EVERYTHING
    this.#pending = new PendingChanges(this.#limits.pendingNames)
    this.#batchSize = new BatchSize(this.#limits.batchObjects)
    this.#comparisons = new ShardComparisons({ ...options, pending: this.#pending, scope: () => this.#scope })
    options.metrics.add(this.#name, {
      pending: () => this.#pending.size,
      lagSeconds: () => this.status().lagMs / 1_000,
      healthy: () => this.#failure === undefined,
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
    return { pending: this.#pending.size, complete: this.#comparisons.idle, lagMs, failure: this.#failure }
  }

  /** Resolves as soon as the store has all that the cache has; at once where this does not run. */
  async caughtUp(): Promise<void> {
    if (this.#behindSinceMs !== undefined) await new Promise<void>((resolve) => this.#idle.add(resolve))
  }

  /** What leaves the scope leaves the store, what comes into it is written. */
  rescope(scope: StoreScope): void {
    const before = this.#scope
    this.#scope = scope
    this.#emptying = false
    this.#empty = false
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
    this.#emptying = true
    this.#purgeNow()
  }

  /** `empty` was asked for, and is done. */
  get isEmpty(): boolean {
    return this.#empty
  }

  /** Something changed that the store may have failed for: its address, its credentials. */
  retryNow(): void {
    this.#failures = 0
    this.#skipPause?.()
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
      this.#every(this.#limits.reconcileMs, () => this.#reconcile()),
      this.#every(PURGE_AFTER_MS, () => this.#firstPurge()),
    ]
    while (!signal.aborted) await this.#step(signal)
    for (const stop of [stopListening, ...stopTimers]) stop()
    signal.removeEventListener('abort', wake)
    await Promise.all(this.#inFlight)
    this.#forget()
  }

  /** One piece of work, or a wait for some. Failures of the store end in `#failed`. */
  async #step(signal: AbortSignal): Promise<void> {
    if (this.#failures > 0 && !(await this.#pause(signal))) return
    if (this.#toDrop.size > 0 || this.#purge) return this.#attempt(() => this.#removeShards())
    if (this.#inFlight.size >= IN_FLIGHT) return Promise.race(this.#inFlight)
    if (this.#pending.size > 0 && (await this.#writeNext(signal))) return
    if (this.#inFlight.size > 0) return Promise.race(this.#inFlight)
    if (this.#comparisons.due) return this.#attempt(() => this.#comparisons.next())
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
    const writing = this.#attempt(() => this.#write(batch))
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
      putOff = this.#written(batch, await store.write(batch.changes))
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
      if (putOff?.has(nameId(identityOf(shard), namespace, name)) !== false) this.#note(shard, namespace, name, force)
    }
  }

  /** Those that have to be given again, by `nameId`. */
  #written({ changes }: Batch, summary: WriteSummary): ReadonlySet<string> {
    const { metrics, letters, logger } = this.#options
    const { written, deleted, unchanged, rejected, deferred = [] } = summary
    const counts = { written, deleted, unchanged, rejected: rejected.length, deferred: deferred.length }
    for (const [outcome, count] of Object.entries(counts)) metrics.documents(this.#name, outcome, count)
    if (letters.size > 0) this.#settleLetters(changes, [...rejected, ...deferred])
    for (const refused of rejected) {
      if (!letters.add(this.#name, refused)) continue
      const { cluster, resource, namespace, name, reason } = refused
      const object = namespace === '' ? name : `${namespace}/${name}`
      const fields = { store: this.#name, cluster, gvr: resource, object, reason: reason.slice(0, 300) }
      logger.error(fields, 'object refused by the search store')
    }
    return new Set(deferred.map((each) => nameId(each, each.namespace, each.name)))
  }

  #settleLetters(changes: readonly Change[], refused: readonly RefusedChange[]): void {
    const open = new Set(refused.map((each) => nameId(each, each.namespace, each.name)))
    for (const change of changes) {
      if (!open.has(nameId(change, change.namespace, change.name))) this.#options.letters.remove(this.#name, change)
    }
  }

  /** Not while a batch is under way that may bring back what is removed. */
  async #removeShards(): Promise<void> {
    await Promise.all(this.#inFlight)
    const emptying = this.#emptying
    if (emptying && this.#options.store.clear !== undefined) {
      await this.#options.store.clear()
      this.#purge = false
      this.#toDrop.clear()
    }
    if (this.#purge) {
      for (const orphan of await this.#orphans()) this.#toDrop.set(`${orphan.cluster}\n${gvrKey(orphan)}`, orphan)
      this.#purge = false
    }
    for (const [id, shard] of this.#toDrop) {
      await this.#options.store.dropShard(shard)
      this.#toDrop.delete(id)
      this.#options.letters.removeShard(this.#name, shard)
    }
    this.#empty = emptying && this.#emptying
  }

  /** Shards of the store that it is not to mirror, or that the cache does not have, synced or not. */
  async #orphans(): Promise<ShardIdentity[]> {
    const stored = await this.#options.store.shards()
    const cached = new Set([...this.#shards()].map((shard) => shardKey(shard.cluster, shard.resource.gvr)))
    return stored
      .filter(
        (shard) => !cached.has(shardKey(shard.cluster, shard)) || this.#scope.of(shard.cluster, shard) === undefined,
      )
      .map(({ cluster, group, resource }) => ({ cluster, group, resource, version: '', kind: '' }))
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.#succeeded()
    } catch (error) {
      this.#failed(error)
    }
  }

  #succeeded(): void {
    if (this.#failure !== undefined) this.#options.logger.info({ store: this.#name }, 'search store recovered')
    this.#failure = undefined
    this.#failures = 0
  }

  #failed(error: unknown): void {
    const { logger, metrics } = this.#options
    const failure = isBackendStoreError(error)
      ? error
      : new BackendStoreError('failed', 'the search store failed', error)
    metrics.failed(this.#name, failure.code)
    if (this.#failure?.code !== failure.code) {
      logger.error({ store: this.#name, err: failure }, 'search store failed, trying again')
    }
    this.#failure = failure
    this.#failures++
  }

  /** False where the signal aborted meanwhile. */
  async #pause(signal: AbortSignal): Promise<boolean> {
    const [first, most] = this.#limits.retryMs
    const ms = Math.min(most, first * 2 ** (this.#failures - 1)) * (1 + this.#options.random() / 2)
    await Promise.all(this.#inFlight)
    if (this.#failures === 0) return !signal.aborted // asked to try at once meanwhile
    const skip = new AbortController()
    this.#skipPause = () => skip.abort(new Error('tried again at once'))
    await sleep(ms, this.#options.clock, AbortSignal.any([signal, skip.signal])).catch(() => undefined)
    this.#skipPause = undefined
    return !signal.aborted
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
    this.#toDrop.set(shardId(shard), identityOf(shard))
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
    this.#purge = true
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
    this.#toDrop.clear()
    this.#purge = false
    this.#failure = undefined
    this.#failures = 0
    this.#upToDate()
  }

  *#shards(): Generator<ShardRef> {
    for (const resource of this.#options.cache.resources()) {
      for (const { cluster } of resource.shards()) yield { resource, cluster }
    }
  }

  /** Until it returns true. */
  #every(ms: number, callback: () => boolean | void): () => void {
    let cancel = (): void => undefined
    const arm = (): void => {
      cancel = this.#options.clock.setTimeout(() => {
        if (callback() !== true) arm()
      }, ms)
    }
    arm()
    return () => cancel()
  }
}

function isSynced({ resource, cluster }: ShardRef): boolean {
  return resource.shards().some((shard) => shard.cluster === cluster && shard.synced)
}

function shardKey(cluster: string, { group, resource }: { group: string; resource: string }): string {
  return `${cluster}\n${group}\n${resource}`
}

function nameId(shard: ShardIdentity, namespace: string, name: string): string {
  return `${shardKey(shard.cluster, shard)}\n${namespace}\n${name}`
}

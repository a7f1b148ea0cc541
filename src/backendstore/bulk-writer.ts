/**
 * Keeps a backend store equal to the cache.
 *
 * Contract:
 * - The cache is never made to wait: changes are noted by name and folded, objects are read when their batch is made, so
 *   what is written is what is true then. Memory is bounded (`PendingChanges`, two batches under way).
 * - A batch that fails is tried again after a growing pause, for as long as it takes; nothing is lost meanwhile.
 * - After a shard's list, after an overflow and now and then, store and cache are compared and the differences written:
 *   deletes that were missed go, nothing live is lost, what is unchanged is not written.
 * - A shard that is dropped loses its documents; one whose member is unreachable keeps them.
 */
import { gvrKey } from '../kube/group-version.ts'
import { sleep } from '../util/sleep.ts'
import type { Change, ShardIdentity, WriteSummary } from './backend-store.ts'
import { DEFAULT_BULK_LIMITS, type BulkLimits, type BulkWriterOptions, type BulkWriterStatus } from './bulk-options.ts'
import { createBulkMetrics, type BulkMetrics } from './bulk-metrics.ts'
import { BackendStoreError, isBackendStoreError } from './errors.ts'
import { identityOf, manifestOf } from './manifest.ts'
import { PendingChanges, refOf, shardId, type PendingName, type ShardRef } from './pending-changes.ts'

/** Batches under way: while the store writes one, the next is made. */
const IN_FLIGHT = 2

/** Shards of the store that the cache does not know are left alone until members have had time to be found. */
const PURGE_AFTER_MS = 120_000

interface Batch {
  readonly names: readonly PendingName[]
  readonly changes: readonly Change[]
}

export class BulkWriter {
  readonly #options: BulkWriterOptions
  readonly #limits: BulkLimits
  readonly #metrics: BulkMetrics
  readonly #pending: PendingChanges
  readonly #toDrop = new Map<string, ShardIdentity>()
  readonly #toCompare = new Map<string, ShardRef>()
  readonly #inFlight = new Set<Promise<void>>()
  readonly #idle = new Set<() => void>()
  #wake: (() => void) | undefined
  /** A comparison is under way. */
  #comparing = false
  /** A comparison found differences that are not all written. */
  #catchingUp = false
  #behindSinceMs: number | undefined
  #failure: BackendStoreError | undefined
  #failures = 0
  #purge = false

  constructor(options: BulkWriterOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_BULK_LIMITS, ...options.limits }
    this.#pending = new PendingChanges(this.#limits.pendingNames)
    this.#metrics = createBulkMetrics(options.metrics, {
      pending: () => this.#pending.size,
      lagSeconds: () => this.status().lagMs / 1_000,
      healthy: () => this.#failure === undefined,
    })
  }

  status(): BulkWriterStatus {
    const lagMs = this.#behindSinceMs === undefined ? 0 : this.#options.clock.monotonicMs() - this.#behindSinceMs
    const complete = this.#toCompare.size === 0 && !this.#comparing && !this.#catchingUp
    return { pending: this.#pending.size, complete, lagMs, failure: this.#failure }
  }

  /** Resolves as soon as the store has all that the cache has. */
  async caughtUp(): Promise<void> {
    if (this.#behindSinceMs !== undefined) await new Promise<void>((resolve) => this.#idle.add(resolve))
  }

  /** Resolves when `signal` aborts and what is under way has ended. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const stopListening = this.#options.cache.onChange({
      changed: (resource, cluster, namespace, name) => this.#changed({ resource, cluster }, namespace, name),
      synced: (resource, cluster) => this.#compareLater({ resource, cluster }),
      dropped: (resource, cluster) => this.#dropped({ resource, cluster }),
    })
    const wake = (): void => this.#wake?.()
    signal.addEventListener('abort', wake, { once: true })
    this.#compareAll()
    const stopTimers = [
      this.#every(this.#limits.reconcileMs, () => this.#compareAll()),
      this.#options.clock.setTimeout(() => this.#purgeLater(), PURGE_AFTER_MS),
    ]
    while (!signal.aborted) await this.#step(signal)
    for (const stop of [stopListening, ...stopTimers]) stop()
    signal.removeEventListener('abort', wake)
    await Promise.all(this.#inFlight)
  }

  /** One piece of work, or a wait for some. Failures of the store end in `#failed`. */
  async #step(signal: AbortSignal): Promise<void> {
    if (this.#failures > 0 && !(await this.#pause(signal))) return
    if (this.#toDrop.size > 0 || this.#purge) return this.#attempt(() => this.#removeShards())
    if (this.#inFlight.size >= IN_FLIGHT) return Promise.race(this.#inFlight)
    if (this.#pending.size > 0) return this.#writeNext(signal)
    if (this.#inFlight.size > 0) return Promise.race(this.#inFlight)
    if (this.#toCompare.size > 0) return this.#attempt(() => this.#compareNext())
    this.#upToDate()
    await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#wake = undefined
  }

  async #writeNext(signal: AbortSignal): Promise<void> {
    // Not between the first lists of many small shards: each would wait.
    const alone = this.#inFlight.size === 0 && this.#toCompare.size === 0
    if (alone && this.#pending.size < this.#limits.batchObjects) {
      await sleep(this.#limits.lingerMs, this.#options.clock, signal).catch(() => undefined)
    }
    if (signal.aborted) return
    const batch = this.#nextBatch()
    const writing = this.#attempt(async () => this.#written(await this.#options.store.write(batch.changes)), batch)
    this.#inFlight.add(writing)
    void writing.then(() => this.#inFlight.delete(writing))
  }

  #nextBatch(): Batch {
    const names: PendingName[] = []
    const changes: Change[] = []
    let bytes = 0
    for (const pending of this.#pending.take()) {
      const change = this.#read(pending)
      names.push(pending)
      changes.push(change)
      bytes += change.type === 'upsert' ? change.bytes.length : 0
      if (changes.length >= this.#limits.batchObjects || bytes >= this.#limits.batchBytes) break
    }
    return { names, changes }
  }

  /** As the cache has it now. A resource may have been registered anew, in another version, since its change was noted. */
  #read({ resource, cluster, namespace, name }: PendingName): Change {
    const current = this.#options.cache.resource(resource.gvr)
    const object = current?.get(cluster, namespace, name)
    const identity = identityOf({ resource: current ?? resource, cluster })
    if (object === undefined) return { type: 'delete', ...identity, namespace, name }
    const { uid, resourceVersion, bytes } = object
    return { type: 'upsert', ...identity, namespace, name, uid, resourceVersion, bytes }
  }

  #written({ written, deleted, unchanged, rejected }: WriteSummary): void {
    this.#metrics.documents.inc({ outcome: 'written' }, written)
    this.#metrics.documents.inc({ outcome: 'deleted' }, deleted)
    this.#metrics.documents.inc({ outcome: 'unchanged' }, unchanged)
    this.#metrics.documents.inc({ outcome: 'rejected' }, rejected.length)
    for (const { cluster, resource, namespace, name, reason } of rejected) {
      const object = namespace === '' ? name : `${namespace}/${name}`
      this.#options.logger.error({ cluster, gvr: resource, object, reason }, 'object refused by the search store')
    }
  }

  async #removeShards(): Promise<void> {
    if (this.#purge) {
      this.#purge = false
      for (const orphan of await this.#orphans()) this.#toDrop.set(`${orphan.cluster}\n${gvrKey(orphan)}`, orphan)
    }
    for (const [id, shard] of this.#toDrop) {
      await this.#options.store.dropShard(shard)
      this.#toDrop.delete(id)
    }
  }

  /** Shards of the store that the cache does not have, synced or not. */
  async #orphans(): Promise<ShardIdentity[]> {
    const stored = await this.#options.store.shards()
    return stored
      .filter((shard) => {
        const resource = this.#options.cache.resource(shard)
        return resource?.shards().some(({ cluster }) => cluster === shard.cluster) !== true
      })
      .map(({ cluster, group, resource }) => ({ cluster, group, resource, version: '', kind: '' }))
  }

  async #compareNext(): Promise<void> {
    for (const [id, shard] of this.#toCompare) {
      this.#comparing = true
      this.#toCompare.delete(id)
      try {
        await this.#compare(shard)
      } catch (error) {
        this.#toCompare.set(id, shard)
        throw error
      } finally {
        this.#comparing = false
      }
      if (this.#pending.size > 0) return
    }
  }

  async #compare({ resource, cluster }: ShardRef): Promise<void> {
    const current = this.#options.cache.resource(resource.gvr)
    const state = current?.shards().find((candidate) => candidate.cluster === cluster)
    if (current === undefined || state?.synced !== true) return
    const shard = { resource: current, cluster }
    const names = await this.#options.store.compare(identityOf(shard), manifestOf(shard))
    if (names.length > 0) this.#catchingUp = true
    for (const { namespace, name } of names) {
      // What finds no room is found by the next comparison.
      if (this.#pending.isFull) return this.#compareLater(shard)
      this.#changed(shard, namespace, name)
    }
  }

  /** What fails is tried again: a batch's names are noted anew. */
  async #attempt(work: () => Promise<void>, batch?: Batch): Promise<void> {
    const startedMs = this.#options.clock.monotonicMs()
    try {
      await work()
      this.#succeeded()
    } catch (error) {
      for (const { namespace, name, ...shard } of batch?.names ?? []) this.#changed(shard, namespace, name)
      this.#failed(error)
    }
    if (batch !== undefined) {
      this.#metrics.batchSeconds.observe((this.#options.clock.monotonicMs() - startedMs) / 1_000)
    }
  }

  #succeeded(): void {
    if (this.#failure !== undefined)
      this.#options.logger.info({ store: this.#options.store.name }, 'search store recovered')
    this.#failure = undefined
    this.#failures = 0
  }

  #failed(error: unknown): void {
    const failure = isBackendStoreError(error)
      ? error
      : new BackendStoreError('failed', 'the search store failed', error)
    this.#metrics.failures.inc({ code: failure.code })
    if (this.#failure?.code !== failure.code) {
      this.#options.logger.error({ store: this.#options.store.name, err: failure }, 'search store failed, trying again')
    }
    this.#failure = failure
    this.#failures++
  }

  /** False where the signal aborted meanwhile. */
  async #pause(signal: AbortSignal): Promise<boolean> {
    const [first, most] = this.#limits.retryMs
    const ms = Math.min(most, first * 2 ** (this.#failures - 1)) * (1 + this.#options.random() / 2)
    await Promise.all(this.#inFlight)
    await sleep(ms, this.#options.clock, signal).catch(() => undefined)
    return !signal.aborted
  }

  #changed(shard: ShardRef, namespace: string, name: string): void {
    if (!this.#pending.add(shard, namespace, name)) this.#toCompare.set(shardId(shard), refOf(shard))
    this.#behind()
  }

  #compareLater(shard: ShardRef): void {
    this.#toCompare.set(shardId(shard), refOf(shard))
    this.#behind()
  }

  #compareAll(): void {
    for (const resource of this.#options.cache.resources()) {
      for (const { cluster, synced } of resource.shards()) if (synced) this.#compareLater({ resource, cluster })
    }
  }

  #dropped(shard: ShardRef): void {
    this.#pending.forget(shard)
    this.#toCompare.delete(shardId(shard))
    this.#toDrop.set(shardId(shard), identityOf(shard))
    this.#behind()
  }

  #purgeLater(): void {
    this.#purge = true
    this.#behind()
  }

  #behind(): void {
    this.#behindSinceMs ??= this.#options.clock.monotonicMs()
    this.#wake?.()
  }

  #upToDate(): void {
    this.#behindSinceMs = undefined
    this.#catchingUp = false
    for (const resolve of this.#idle) resolve()
    this.#idle.clear()
  }

  #every(ms: number, callback: () => void): () => void {
    let cancel = (): void => undefined
    const arm = (): void => {
      cancel = this.#options.clock.setTimeout(() => {
        callback()
        arm()
      }, ms)
    }
    arm()
    return () => cancel()
  }
}

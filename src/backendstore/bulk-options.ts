/** What the bulk writer is given, and what it tells. */
import type { CacheReader } from '../cache/reader.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock, Random } from '../util/clock.ts'
import type { BackendStoreWriter } from './backend-store.ts'
import type { StoreMetrics } from './bulk-metrics.ts'
import type { DeadLetters } from './dead-letters.ts'
import type { BackendStoreError } from './errors.ts'
import type { StoreScope } from './store-scope.ts'

export interface BulkLimits {
  /** Objects of a batch at most; fewer while the store is short of breath. 2,000 pods take the store about 0.15 s, and reading them 5 ms of the main thread. */
  readonly batchObjects: number
  /** Bytes of the objects of a batch, 8 MiB: what is copied for the store's thread. */
  readonly batchBytes: number
  /** Batches under way: while the store writes some, the next is made. */
  readonly inFlight: number
  /** How long the first change of a batch waits for others: well below what a person notices. */
  readonly lingerMs: number
  /** Names held at most; beyond, shards are compared as a whole. */
  readonly pendingNames: number
  /** Between two comparisons of everything. */
  readonly reconcileMs: number
  /** The pause after a failure: doubled each time up to the second, jittered by a half. */
  readonly retryMs: readonly [first: number, most: number]
}

export const DEFAULT_BULK_LIMITS: BulkLimits = {
  batchObjects: 2_000,
  batchBytes: 8 * 1024 * 1024,
  inFlight: 2,
  lingerMs: 50,
  pendingNames: 200_000,
  reconcileMs: 30 * 60_000,
  retryMs: [1_000, 30_000],
}

export interface BulkWriterOptions {
  readonly cache: CacheReader
  readonly store: BackendStoreWriter
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: StoreMetrics
  readonly letters: DeadLetters
  /** Default: everything that is cached. */
  readonly scope?: StoreScope
  /**
   * Whether who the members are and what registries ask for is known, so that a shard that the cache lacks is gone and not
   * just unheard of. Default: it is.
   */
  readonly known?: () => boolean
  readonly limits?: Partial<BulkLimits>
}

/**
 * Of a search engine: batches whose documents, five times as long as the objects, are one request that takes it a few hundred
 * ms; two for it to work at and one that is made meanwhile; and a linger that lets a busy fleet's changes share requests.
 */
export const ENGINE_BULK_LIMITS = {
  batchObjects: 1_000,
  batchBytes: 1.5 * 1024 * 1024,
  inFlight: 3,
  lingerMs: 200,
} satisfies Partial<BulkLimits>

export interface BulkWriterStatus {
  readonly pending: number
  /** False while shards are yet to be compared with the store, or what a comparison found is yet to be written. */
  readonly complete: boolean
  /** How long the store has been behind; 0 when it is not. */
  readonly lagMs: number
  /** Why the last batch was not taken; undefined while all is well. */
  readonly failure: BackendStoreError | undefined
}

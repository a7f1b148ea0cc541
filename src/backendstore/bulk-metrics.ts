/** What the bulk writer tells of itself. */
import { Counter, Gauge, Histogram, type Registry } from '../telemetry/metrics.ts'

export interface BulkMetrics {
  /** By outcome: written, deleted, unchanged, rejected. */
  readonly documents: Counter<'outcome'>
  /** By code of `BackendStoreError`. */
  readonly failures: Counter<'code'>
  readonly batchSeconds: Histogram
}

export function createBulkMetrics(
  registry: Registry,
  now: { pending(): number; lagSeconds(): number; healthy(): boolean },
): BulkMetrics {
  const registers = [registry]
  new Gauge({
    name: 'fleetsearch_backend_store_pending_objects',
    help: 'Objects that the search store has yet to be told of.',
    registers,
    collect() {
      this.set(now.pending())
    },
  })
  new Gauge({
    name: 'fleetsearch_backend_store_lag_seconds',
    help: 'Since when the search store has been behind the cache; 0 when it is not.',
    registers,
    collect() {
      this.set(now.lagSeconds())
    },
  })
  new Gauge({
    name: 'fleetsearch_backend_store_healthy',
    help: '1 while the search store takes what it is given, 0 while it fails.',
    registers,
    collect() {
      this.set(now.healthy() ? 1 : 0)
    },
  })
  return {
    documents: new Counter({
      name: 'fleetsearch_backend_store_documents_total',
      help: 'Documents given to the search store, by outcome.',
      labelNames: ['outcome'],
      registers,
    }),
    failures: new Counter({
      name: 'fleetsearch_backend_store_failures_total',
      help: 'Batches that the search store did not take, by code.',
      labelNames: ['code'],
      registers,
    }),
    batchSeconds: new Histogram({
      name: 'fleetsearch_backend_store_batch_seconds',
      help: 'Time a batch of documents takes until the search store has it.',
      buckets: [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers,
    }),
  }
}

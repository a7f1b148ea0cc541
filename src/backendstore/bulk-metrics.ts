/** What the bulk writers tell of themselves, each under the name of its store. */
import { BACKEND_STORE_ERROR_CODES } from './errors.ts'
import { Counter, Gauge, Histogram, type Registry } from '../telemetry/metrics.ts'

/** Asked when metrics are read. */
export interface StoreGauges {
  pending(): number
  lagSeconds(): number
  healthy(): boolean
  deadLetters(): number
}

/** Of all stores of a process: at most `MAX_STORES` values of the label. */
export class StoreMetrics {
  readonly #gauges = new Map<string, StoreGauges>()
  /** By outcome: written, deleted, unchanged, rejected, deferred. */
  readonly #documents: Counter<'store' | 'outcome'>
  /** By code of `BackendStoreError`. */
  readonly #failures: Counter<'store' | 'code'>
  readonly #batchSeconds: Histogram<'store'>
  readonly #comparisons: Counter<'store' | 'result'>

  constructor(registry: Registry) {
    const registers = [registry]
    const gauge = (name: string, help: string, read: (gauges: StoreGauges) => number): void => {
      const all = this.#gauges
      new Gauge({
        name: `fleetsearch_backend_store_${name}`,
        help,
        labelNames: ['store'],
        registers,
        collect() {
          this.reset()
          for (const [store, gauges] of all) this.set({ store }, read(gauges))
        },
      })
    }
    gauge('pending_objects', 'Objects that the store has yet to be told of.', (of) => of.pending())
    gauge('lag_seconds', 'Since when the store has been behind the cache; 0 when it is not.', (of) => of.lagSeconds())
    gauge('healthy', '1 while the store takes what it is given, 0 while it fails.', (of) => (of.healthy() ? 1 : 0))
    gauge('dead_letters', 'Objects that the store refused for good and that are still there.', (of) => of.deadLetters())
    this.#documents = new Counter({
      name: 'fleetsearch_backend_store_documents_total',
      help: 'Documents given to the store, by outcome.',
      labelNames: ['store', 'outcome'],
      registers,
    })
    this.#failures = new Counter({
      name: 'fleetsearch_backend_store_failures_total',
      help: 'Calls that failed at the store, by code.',
      labelNames: ['store', 'code'],
      registers,
    })
    this.#batchSeconds = new Histogram({
      name: 'fleetsearch_backend_store_batch_seconds',
      help: 'Time a batch of documents takes until the store has it.',
      labelNames: ['store'],
      buckets: [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30],
      registers,
    })
    this.#comparisons = new Counter({
      name: 'fleetsearch_backend_store_comparisons_total',
      help: 'Shards compared with the store, by result: equal by their sums, or compared by name.',
      labelNames: ['store', 'result'],
      registers,
    })
  }

  /** Shown from now on. */
  add(store: string, gauges: StoreGauges): void {
    this.#gauges.set(store, gauges)
  }

  /** Its series go too, so that stores that come and go leave none behind. */
  remove(store: string): void {
    this.#gauges.delete(store)
    for (const outcome of ['written', 'deleted', 'unchanged', 'rejected', 'deferred']) {
      this.#documents.remove({ store, outcome })
    }
    for (const code of BACKEND_STORE_ERROR_CODES) this.#failures.remove({ store, code })
    for (const result of ['equal', 'named']) this.#comparisons.remove({ store, result })
    this.#batchSeconds.remove({ store })
  }

  documents(store: string, outcome: string, count: number): void {
    if (count > 0) this.#documents.inc({ store, outcome }, count)
  }

  failed(store: string, code: string): void {
    this.#failures.inc({ store, code })
  }

  batch(store: string, seconds: number): void {
    this.#batchSeconds.observe({ store }, seconds)
  }

  compared(store: string, result: 'equal' | 'named'): void {
    this.#comparisons.inc({ store, result })
  }
}

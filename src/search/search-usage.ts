/** How much of what is bounded in search is in use: read when metrics are. */
import { Gauge, type Registry } from '../telemetry/metrics.ts'

/**
 * `pod_addresses`: what `lookup` remembers. `snapshots`: states that the store holds for exports.
 * `control_plane_answers`: those of `related` that read from the control plane. Under way are requests below `query/proxy` (`query_watches`, `long_answers`) and
 * searches in the order of labels, annotations or paths (`value_sorts`), being sent exports in such an order
 * (`value_exports`). `async_searches`: those of the passthrough that run or are kept.
 */
export type UsedPart =
  | 'query_watches'
  | 'long_answers'
  | 'value_sorts'
  | 'value_exports'
  | 'snapshots'
  | 'pod_addresses'
  | 'control_plane_answers'
  | 'async_searches'

export interface Used {
  now(): number
  /** More are refused, or the oldest forgotten. */
  readonly most: number
}

export class SearchUsage {
  readonly #parts = new Map<UsedPart, Used>()

  constructor(registry: Registry) {
    const gauge = (name: string, help: string, read: (used: Used) => number): void => {
      const parts = this.#parts
      new Gauge({
        name,
        help,
        labelNames: ['part'],
        registers: [registry],
        collect() {
          for (const [part, used] of parts) this.set({ part }, read(used))
        },
      })
    }
    gauge('fleetsearch_search_in_use', 'What search holds for its callers.', (used) => used.now())
    gauge('fleetsearch_search_in_use_limit', 'How much it may hold at most.', ({ most }) => most)
  }

  /** Of one handler for each part. */
  watch(part: UsedPart, used: Used): void {
    this.#parts.set(part, used)
  }
}

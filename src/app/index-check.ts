/**
 * Readiness of the search store: ready when it has had all that the cache had once. Where that takes longer than the sync
 * time-out after the first sync it is ready too: answers then say that the store is catching up.
 */
import type { HealthCheck, HealthEndpoint, Readiness } from '../apiserver/health.ts'
import type { Clock } from '../util/clock.ts'

export class IndexCheck implements HealthCheck {
  readonly name = 'search-index'
  readonly endpoints: readonly HealthEndpoint[] = ['readyz']
  readonly #isSynced: () => boolean
  readonly #clock: Clock
  readonly #timeoutMs: number
  #sinceMs: number | undefined
  #ready = false

  /** `isSynced`: the first sync is over. */
  constructor(isSynced: () => boolean, clock: Clock, timeoutMs: number) {
    this.#isSynced = isSynced
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** It has had all that the cache had after the first sync. */
  caughtUp(): void {
    this.#ready = true
  }

  check(): Readiness {
    if (this.#ready) return { state: 'ready' }
    if (!this.#isSynced()) return { state: 'pending', reason: 'the first sync is not over' }
    this.#sinceMs ??= this.#clock.monotonicMs()
    if (this.#clock.monotonicMs() - this.#sinceMs >= this.#timeoutMs) this.#ready = true
    return this.#ready ? { state: 'ready' } : { state: 'pending', reason: 'the search store is catching up' }
  }
}

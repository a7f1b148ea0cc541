/** Work for a store that may fail: told once, counted, and followed by a pause that grows until something succeeds. */
import type { Logger } from '../telemetry/logger.ts'
import type { Clock, Random } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import type { StoreMetrics } from './bulk-metrics.ts'
import { BackendStoreError, isBackendStoreError } from './errors.ts'

export interface AttemptsOptions {
  /** Of the store. */
  readonly name: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: StoreMetrics
  /** The pause after a failure: doubled each time up to the second, jittered by a half. */
  readonly retryMs: readonly [first: number, most: number]
}

export class Attempts {
  readonly #options: AttemptsOptions
  #failure: BackendStoreError | undefined
  #failures = 0
  #skipPause: (() => void) | undefined

  constructor(options: AttemptsOptions) {
    this.#options = options
  }

  /** Why the last one failed; undefined while all is well. */
  get failure(): BackendStoreError | undefined {
    return this.#failure
  }

  /** The next one has to wait. */
  get paused(): boolean {
    return this.#failures > 0
  }

  /** Never rejects. */
  async make(work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.#succeeded()
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Waits for the end of `others` and then as long as the failures so far demand. */
  async pause(others: Iterable<Promise<void>>, signal: AbortSignal): Promise<void> {
    const { clock, random, retryMs } = this.#options
    const [first, most] = retryMs
    const ms = Math.min(most, first * 2 ** (this.#failures - 1)) * (1 + random() / 2)
    await Promise.all(others)
    if (!this.paused) return // asked to try at once meanwhile
    const skip = new AbortController()
    this.#skipPause = () => skip.abort(new Error('tried again at once'))
    await sleep(ms, clock, AbortSignal.any([signal, skip.signal])).catch(() => undefined)
    this.#skipPause = undefined
  }

  /** The next one need not wait: what it failed for may be mended. */
  retryNow(): void {
    this.#failures = 0
    this.#skipPause?.()
  }

  forget(): void {
    this.#failure = undefined
    this.#failures = 0
  }

  #succeeded(): void {
    if (this.#failure !== undefined) this.#options.logger.info({ store: this.#options.name }, 'search store recovered')
    this.forget()
  }

  #failed(error: unknown): void {
    const { name, logger, metrics } = this.#options
    const failure = isBackendStoreError(error)
      ? error
      : new BackendStoreError('failed', 'the search store failed', error)
    metrics.failed(name, failure.code)
    if (this.#failure?.code !== failure.code) {
      const record = { store: name, err: failure }
      // A store that is away or full is its operator's to mend; where in our code it was met helps nobody.
      if (failure.code === 'failed') logger.error(record, 'search store failed, trying again')
      else logger.warn(record, 'search store failed, trying again')
    }
    this.#failure = failure
    this.#failures++
  }
}

/**
 * Limits requests to one member: `qps` a second on average, `burst` at once. Callers are served in the order they came.
 * Source: client-go util/flowcontrol, NewTokenBucketRateLimiter (golang.org/x/time/rate).
 */
import type { Clock } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'

export class TokenBucket {
  readonly #qps: number
  readonly #burst: number
  readonly #clock: Clock
  #tokens: number
  #filledAtMs: number

  /** `qps` of 0 or less: no limit. `burst` counts as 1 at least. */
  constructor(qps: number, burst: number, clock: Clock) {
    this.#qps = qps
    this.#burst = Math.max(1, burst)
    this.#clock = clock
    this.#tokens = this.#burst
    this.#filledAtMs = clock.monotonicMs()
  }

  /** Resolves when the caller may send; rejects with the signal's reason, and then gives its place back. */
  async acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#qps <= 0) return
    this.#fill()
    this.#tokens -= 1
    if (this.#tokens >= 0) return
    // A debt of n tokens is paid off when n more have dripped in; each caller waits for its own.
    try {
      await sleep((-this.#tokens / this.#qps) * 1_000, this.#clock, signal)
    } catch (error) {
      this.#tokens += 1
      throw error
    }
  }

  #fill(): void {
    const now = this.#clock.monotonicMs()
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledAtMs) / 1_000) * this.#qps)
    this.#filledAtMs = now
  }
}

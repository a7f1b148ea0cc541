/** Waits between failures: doubling, jittered, starting over after a quiet time. */
import type { Clock, Random } from '../util/clock.ts'

export interface BackoffLimits {
  readonly initialMs: number
  readonly maxMs: number
  /** So long after the last failure the next one counts as the first. */
  readonly resetMs: number
}

/** Source: client-go tools/cache/reflector.go, `NewReflectorWithOptions` (800 ms, 30 s, reset after 2 min, factor 2, jitter 1). */
export const RETRY: BackoffLimits = { initialMs: 800, maxMs: 30_000, resetMs: 120_000 }

/** For what only an administrator can mend (no right, no such kind, no credentials): seconds first, then five minutes. */
export const SLOW_RETRY: BackoffLimits = { initialMs: 5_000, maxMs: 300_000, resetMs: 900_000 }

export class Backoff {
  readonly #limits: BackoffLimits
  readonly #clock: Clock
  readonly #random: Random
  #failures = 0
  #lastMs = 0

  constructor(limits: BackoffLimits, clock: Clock, random: Random) {
    this.#limits = limits
    this.#clock = clock
    this.#random = random
  }

  /** How long to wait now, in [base, 2 × base). */
  nextMs(): number {
    const now = this.#clock.monotonicMs()
    if (this.#failures > 0 && now - this.#lastMs > this.#limits.resetMs) this.#failures = 0
    const base = Math.min(this.#limits.maxMs, this.#limits.initialMs * 2 ** Math.min(this.#failures, 20))
    this.#failures += 1
    this.#lastMs = now
    return base * (1 + this.#random())
  }

  reset(): void {
    this.#failures = 0
  }
}

/**
 * Virtual time for tests. Nothing happens until a test moves the clock; timers fire in the order of their due times, and
 * between two of them promises and loopback sockets get a turn, so that code under test can arm its next timer.
 *
 *     const clock = new FakeClock()
 *     const slept = sleep(1_000, clock, signal)
 *     await clock.advance(1_000)
 *     await slept
 */
import type { Clock, Random } from '../../src/util/clock.ts'

interface Timer {
  readonly atMs: number
  readonly callback: () => void
}

/** 2026-11-30T00:00:00Z: where the wall clock of a test begins unless it says otherwise. */
export const FAKE_EPOCH_MS = Date.UTC(2026, 10, 30)

export class FakeClock implements Clock {
  readonly #epochMs: number
  readonly #timers = new Set<Timer>()
  #elapsedMs = 0

  constructor(epochMs: number = FAKE_EPOCH_MS) {
    this.#epochMs = epochMs
  }

  nowMs(): number {
    return this.#epochMs + this.#elapsedMs
  }

  monotonicMs(): number {
    return this.#elapsedMs
  }

  setTimeout(callback: () => void, ms: number): () => void {
    const timer: Timer = { atMs: this.#elapsedMs + Math.max(0, ms), callback }
    this.#timers.add(timer)
    return () => {
      this.#timers.delete(timer)
    }
  }

  /** Timers that are armed; 0 at the end of a test shows that nothing was left behind. */
  get pending(): number {
    return this.#timers.size
  }

  /** Milliseconds until the next timer; undefined without one. */
  get nextMs(): number | undefined {
    const next = this.#next(Number.POSITIVE_INFINITY)
    return next === undefined ? undefined : next.atMs - this.#elapsedMs
  }

  /** Moves time forward by `ms`, firing what falls due on the way, with turns for promises and sockets in between. */
  async advance(ms: number): Promise<void> {
    const target = this.#elapsedMs + ms
    await settle()
    for (let timer = this.#next(target); timer !== undefined; timer = this.#next(target)) {
      this.#fire(timer)
      await settle()
    }
    this.#elapsedMs = target
    await settle()
  }

  /** The same without any turn in between, for code that needs none. */
  tick(ms: number): void {
    const target = this.#elapsedMs + ms
    for (let timer = this.#next(target); timer !== undefined; timer = this.#next(target)) this.#fire(timer)
    this.#elapsedMs = target
  }

  /**
   * Advances by `stepMs` at a time until `condition` holds; fails when `limitMs` of virtual time have passed. Between two
   * steps real sockets get a few turns.
   */
  async advanceUntil(condition: () => boolean, stepMs = 100, limitMs = 600_000): Promise<void> {
    const end = this.#elapsedMs + limitMs
    while (!condition()) {
      if (this.#elapsedMs >= end) throw new Error(`condition not met within ${limitMs} ms of virtual time`)
      for (let turn = 0; turn < 5 && !condition(); turn++) await settle()
      if (!condition()) await this.advance(stepMs)
    }
  }

  #next(limitMs: number): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.atMs <= limitMs && (next === undefined || timer.atMs < next.atMs)) next = timer
    }
    return next
  }

  #fire(timer: Timer): void {
    this.#timers.delete(timer)
    this.#elapsedMs = Math.max(this.#elapsedMs, timer.atMs)
    timer.callback()
  }
}

/** Lets promises and whatever the event loop has ready run; no real time passes. */
export async function settle(turns = 3): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}

/** Waits for real input and output (loopback sockets, files, child processes); fails after `limitMs` of real time. */
export async function until(condition: () => boolean, what = 'condition', limitMs = 10_000): Promise<void> {
  const end = performance.now() + limitMs
  while (!condition()) {
    if (performance.now() > end) throw new Error(`${what} not met within ${limitMs} ms`)
    await new Promise<void>((resolve) => setTimeout(resolve, 2))
  }
}

/** Numbers in [0, 1) that a seed repeats (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let z = state
    z = Math.imul(z ^ (z >>> 15), z | 1)
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61)
    return ((z ^ (z >>> 14)) >>> 0) / 4_294_967_296
  }
}

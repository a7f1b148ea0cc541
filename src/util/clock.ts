/** Time and chance, injected wherever they are used, so that tests run in virtual time. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch; only for what a person reads. */
  nowMs(): number
  /** Monotonic milliseconds, for durations. */
  monotonicMs(): number
  /** Calls back once after `ms`; returns a canceller. The timer does not keep the process alive. */
  setTimeout(callback: () => void, ms: number): () => void
}

/** A number in [0, 1). */
export type Random = () => number

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout(callback, ms) {
    const timer = setTimeout(callback, ms)
    timer.unref()
    return () => {
      clearTimeout(timer)
    }
  },
}

export const systemRandom: Random = () => Math.random()

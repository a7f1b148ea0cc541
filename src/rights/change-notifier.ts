/** Tells listeners that rights may have changed: at most ten times a second, and now and then where nobody says so. */
import type { Clock } from '../util/clock.ts'

/** A role and its bindings are written one after the other. */
const COALESCE_MS = 100

export class ChangeNotifier {
  readonly #clock: Clock
  readonly #tickMs: number
  readonly #doubtful: () => boolean
  readonly #listeners = new Set<() => void>()
  #cancelSoon: (() => void) | undefined
  #cancelTick: (() => void) | undefined

  /** While `doubtful` and somebody listens, listeners are called every `tickMs`. */
  constructor(clock: Clock, tickMs: number, doubtful: () => boolean) {
    this.#clock = clock
    this.#tickMs = tickMs
    this.#doubtful = doubtful
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.#armTick()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.stop()
    }
  }

  changed(): void {
    if (this.#listeners.size === 0 || this.#cancelSoon !== undefined) return
    this.#cancelSoon = this.#clock.setTimeout(() => {
      this.#cancelSoon = undefined
      this.#call()
    }, COALESCE_MS)
  }

  stop(): void {
    this.#cancelSoon?.()
    this.#cancelTick?.()
    this.#cancelSoon = undefined
    this.#cancelTick = undefined
  }

  #armTick(): void {
    if (this.#cancelTick !== undefined || this.#listeners.size === 0) return
    this.#cancelTick = this.#clock.setTimeout(() => {
      this.#cancelTick = undefined
      if (this.#doubtful()) this.#call()
      this.#armTick()
    }, this.#tickMs)
  }

  #call(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}

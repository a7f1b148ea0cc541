/** When to stop: at the first signal in good order, at a second one at once. */
import { systemClock, type Clock } from '../util/clock.ts'

/** Ctrl-C comes from the terminal, and from an npm that passes it on: within this time it is the same one. */
const SAME_WISH_MS = 250

export class StopWish {
  readonly #controller = new AbortController()
  readonly #exit: () => void
  readonly #clock: Clock
  #firstMs: number | undefined

  /** `exit` ends the process whatever is still open. */
  constructor(exit: () => void, clock: Clock = systemClock) {
    this.#exit = exit
    this.#clock = clock
  }

  /** Aborts at the first wish, with its reason. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  stop(reason: string): void {
    const nowMs = this.#clock.monotonicMs()
    this.#firstMs ??= nowMs
    if (!this.signal.aborted) this.#controller.abort(new Error(reason))
    else if (nowMs - this.#firstMs > SAME_WISH_MS) this.#exit()
  }
}

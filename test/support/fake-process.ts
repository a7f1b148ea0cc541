/**
 * A process in virtual time, as the clock that what runs in it is given: its clock may run at another rate than the world's,
 * and it may stand still, when no timer fires and nothing arrives, or die.
 */
import type { Clock } from '../../src/util/clock.ts'
import type { FakeClock } from './fake-clock.ts'

export class FakeProcess implements Clock {
  /** The world's, which goes on whatever happens here. */
  readonly base: FakeClock
  readonly #rate: number
  #dead = false
  #frozen: (() => void)[] | undefined

  constructor(base: FakeClock, rate = 1) {
    this.base = base
    this.#rate = rate
  }

  /** SIGSTOP. */
  freeze(): void {
    this.#frozen ??= []
  }

  /** SIGCONT: everything that fell due is delivered now, in its order. */
  thaw(): void {
    const due = this.#frozen ?? []
    this.#frozen = undefined
    for (const deliver of due) deliver()
  }

  get frozen(): boolean {
    return this.#frozen !== undefined
  }

  /** SIGKILL: nothing happens in it any more. */
  kill(): void {
    this.#dead = true
    this.#frozen = undefined
  }

  get dead(): boolean {
    return this.#dead
  }

  nowMs(): number {
    return this.base.nowMs()
  }

  monotonicMs(): number {
    return this.base.monotonicMs() * this.#rate
  }

  setTimeout(callback: () => void, ms: number): () => void {
    let cancelled = false
    const cancel = this.base.setTimeout(() => this.deliver(() => void (cancelled || callback())), ms / this.#rate)
    return () => {
      cancelled = true
      cancel()
    }
  }

  /** Something happens to it: now, or when it goes on. */
  deliver(what: () => void): void {
    if (this.#dead) return
    if (this.#frozen === undefined) what()
    else this.#frozen.push(what)
  }
}

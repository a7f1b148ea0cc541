/**
 * The differences that a replacement brought, told a slice at a time: a relist of 50,000 changed objects would otherwise hold
 * up the event loop for a tenth of a second and more. The content itself has been swapped at once before.
 */
import type { Difference } from './staging.ts'

/** Differences told, or objects compared in thousands, in one turn of the event loop: one to three milliseconds. */
const TURN = 512

export interface PublicationSink {
  /** `last`: with it the shard has got to its new version. */
  tell(change: Difference, last: boolean): void
  /** Everything has been told. */
  done(): void
}

export class Publication {
  readonly #differences: Iterator<Difference | undefined>
  readonly #sink: PublicationSink
  /** Told when it is known whether it is the last. */
  #held: Difference | undefined
  #isOver = false

  constructor(differences: Iterator<Difference | undefined>, sink: PublicationSink) {
    this.#differences = differences
    this.#sink = sink
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Goes on in the turns that follow, unless it is finished or abandoned before. */
  start(): void {
    setImmediate(() => {
      if (this.#isOver) return
      this.#advance(TURN)
      if (!this.isOver) this.start()
    })
  }

  /** Tells all that is left, now. */
  finish(): void {
    if (!this.#isOver) this.#advance(Number.POSITIVE_INFINITY)
  }

  /** Nobody is to hear of it any more. */
  abandon(): void {
    this.#isOver = true
  }

  #advance(count: number): void {
    for (let i = 0; i < count; i++) {
      const next = this.#differences.next()
      if (next.done === true) return this.#end()
      if (next.value === undefined) continue
      if (this.#held !== undefined) this.#sink.tell(this.#held, false)
      this.#held = next.value
    }
  }

  #end(): void {
    this.#isOver = true
    if (this.#held !== undefined) this.#sink.tell(this.#held, true)
    this.#held = undefined
    this.#sink.done()
  }
}

/** What was taken of an iterator already, then the rest of it. */
export function* joined<T>(taken: readonly T[], rest: Iterator<T>): Generator<T, void, undefined> {
  yield* taken
  for (let next = rest.next(); next.done !== true; next = rest.next()) yield next.value
}

/** Events on their way to one watcher: pushed by the writer, pulled by the reader, bounded. */

export class EventQueue<T> {
  readonly #limit: number
  #items: T[] = []
  #wake: (() => void) | undefined
  #overflowed = false
  #failure: { readonly error: unknown } | undefined

  /** A reader more than `limit` items behind is cut. */
  constructor(limit: number) {
    this.#limit = limit
  }

  push(item: T): void {
    if (this.#items.length >= this.#limit) this.#overflowed = true
    else this.#items.push(item)
    this.#wake?.()
  }

  /** The reader gets what is queued, then this error. */
  fail(error: unknown): void {
    this.#failure ??= { error }
    this.#wake?.()
  }

  /** Ends when the signal aborts, throws `tooSlow()` when the reader was cut, or what `fail` was called with. */
  async *drain(signal: AbortSignal, tooSlow: () => Error): AsyncGenerator<T> {
    const onAbort = (): void => this.#wake?.()
    signal.addEventListener('abort', onAbort)
    try {
      while (!signal.aborted) {
        if (this.#overflowed) throw tooSlow()
        const batch = this.#items
        this.#items = []
        for (const item of batch) {
          yield item
          if (signal.aborted) return
        }
        if (batch.length > 0) continue
        if (this.#failure !== undefined) throw this.#failure.error
        await this.#arrival(signal)
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  async #arrival(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      if (signal.aborted || this.#items.length > 0 || this.#overflowed || this.#failure !== undefined) resolve()
    })
    this.#wake = undefined
  }
}

/** Batches from several producers to one consumer, in the order they came. */
import type { WatchItem } from '../../cache/reader.ts'

/** Items held before producers wait: a reader that stands still stops the members' streams, not the process. */
const HIGH_WATER = 1_000

export class ItemQueue implements AsyncIterable<readonly WatchItem[]> {
  #batches: (readonly WatchItem[])[] = []
  #items = 0
  #ended = false
  #failure: unknown
  #wakeConsumer: (() => void) | undefined
  #wakeProducers: (() => void)[] = []

  /** Resolves when there is room for more. After `end` the batch is dropped. */
  push(batch: readonly WatchItem[]): Promise<void> {
    if (this.#ended || batch.length === 0) return Promise.resolve()
    this.#batches.push(batch)
    this.#items += batch.length
    this.#wakeConsumer?.()
    if (this.#items < HIGH_WATER) return Promise.resolve()
    return new Promise((resolve) => this.#wakeProducers.push(resolve))
  }

  /** What is queued is still delivered. */
  end(): void {
    this.#ended = true
    this.#wakeConsumer?.()
    this.#release()
  }

  /** The consumer gets `error` after what is queued. */
  fail(error: unknown): void {
    this.#failure ??= error
    this.end()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly WatchItem[], void, void> {
    try {
      for (;;) {
        const batch = this.#batches.shift()
        if (batch !== undefined) {
          this.#items -= batch.length
          if (this.#items < HIGH_WATER) this.#release()
          yield batch
        } else if (this.#ended) break
        else await this.#wait()
      }
    } finally {
      this.end()
    }
    if (this.#failure !== undefined) throw this.#failure
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeConsumer = () => {
        this.#wakeConsumer = undefined
        resolve()
      }
    })
  }

  #release(): void {
    const waiting = this.#wakeProducers
    this.#wakeProducers = []
    for (const wake of waiting) wake()
  }
}

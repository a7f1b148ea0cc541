/**
 * Memory for what goes to another thread and comes back. V8 collects a thread's whole heap whenever about 64 MB of buffers
 * are new to it: with fresh ones that is every few batches.
 */

/** As many as a store has batches under way. */
const KEPT = 3

/** In batches of about the same size none has to grow. */
const SPARE = 1.125

export class BufferPool {
  readonly #free: ArrayBuffer[] = []

  /** Holds at least so many bytes, whatever they are. */
  take(bytes: number): ArrayBuffer {
    const found = this.#free.findIndex((buffer) => buffer.byteLength >= bytes)
    if (found >= 0) return this.#free.splice(found, 1)[0] as ArrayBuffer
    this.#free.pop() // one that is too small for what comes now
    return new ArrayBuffer(Math.ceil(bytes * SPARE))
  }

  /** Nobody may use it any more. */
  give(buffer: ArrayBuffer): void {
    if (this.#free.length < KEPT) this.#free.push(buffer)
  }

  /** Of those that are free. */
  clear(): void {
    this.#free.length = 0
  }
}

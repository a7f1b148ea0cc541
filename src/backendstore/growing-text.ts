/** Text as UTF-8, encoded once: to be handed to another thread. */
export class GrowingText {
  #bytes: Buffer<ArrayBuffer>
  #length = 0

  /** `memory`: where it stands, as long as there is room. */
  constructor(memory: ArrayBuffer) {
    this.#bytes = Buffer.from(memory)
  }

  get length(): number {
    return this.#length
  }

  /** Text, or its bytes. */
  add(text: string | Uint8Array): void {
    const isBytes = typeof text !== 'string'
    const needed = this.#length + text.length * (isBytes ? 1 : 3) // at most, of UTF-16 units
    if (needed > this.#bytes.length) this.#grow(needed)
    if (isBytes) this.#bytes.set(text, this.#length)
    this.#length += isBytes ? text.length : this.#bytes.write(text, this.#length)
  }

  /** Takes back what was added behind `length`. */
  cut(length: number): void {
    this.#length = length
  }

  /** What is behind `length` is of no use. */
  bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#bytes.buffer)
  }

  #grow(needed: number): void {
    const larger = Buffer.from(new ArrayBuffer(Math.max(needed, this.#bytes.length * 2)))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}

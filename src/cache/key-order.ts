/**
 * Slots in the byte order of their keys: one sorted array, 4 bytes an object. Inserting moves what lies behind, which
 * costs 20 µs at 200,000 objects; a search halves the array, so there is no hash of keys beside it (bench/cache.ts).
 */
export class KeyOrder {
  #slots = new Uint32Array(8)
  #length = 0

  get length(): number {
    return this.#length
  }

  at(index: number): number {
    return this.#slots[index] ?? 0
  }

  append(slot: number): void {
    this.insertAt(this.#length, slot)
  }

  insertAt(index: number, slot: number): void {
    this.#reserve(this.#length + 1)
    if (index < this.#length) this.#slots.copyWithin(index + 1, index, this.#length)
    this.#slots[index] = slot
    this.#length += 1
  }

  setAt(index: number, slot: number): void {
    this.#slots[index] = slot
  }

  removeAt(index: number): void {
    this.#slots.copyWithin(index, index + 1, this.#length)
    this.#length -= 1
  }

  /** A copy of a part. */
  slice(from: number, to: number): KeyOrder {
    const part = new KeyOrder()
    part.#slots = this.#slots.slice(from, Math.min(to, this.#length))
    part.#length = part.#slots.length
    return part
  }

  /** Puts `other`'s slots in the place of those in `[from, to)`. */
  splice(from: number, to: number, other: KeyOrder): void {
    const length = this.#length - (to - from) + other.#length
    const result = new Uint32Array(Math.max(8, length))
    result.set(this.#slots.subarray(0, from))
    result.set(other.#slots.subarray(0, other.#length), from)
    result.set(this.#slots.subarray(to, this.#length), from + other.#length)
    this.#slots = result
    this.#length = length
  }

  /** The first index whose slot does not sort before what `compare` looks for (negative: slot is before it). */
  lowerBound(compare: (slot: number) => number): number {
    let low = 0
    let high = this.#length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compare(this.at(middle)) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #reserve(length: number): void {
    if (length <= this.#slots.length) return
    const longer = new Uint32Array(Math.ceil(1.5 * length))
    longer.set(this.#slots)
    this.#slots = longer
  }
}

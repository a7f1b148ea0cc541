/** Which documents stand in which row. Rows are in the order of ids, which only ascend (`IndexWriter`). */

/** Rows are let go when so many of them hold no document. */
const DEAD_SHARE = 1 / 4
const MIN_DEAD = 1_024

/** A row for each document, and what tells which are left. */
export class Rows {
  #ids = new Float64Array(1_024)
  /** 1 where the row's document is there. */
  #live = new Uint8Array(1_024)
  #length = 0
  #dead = 0

  /** Rows, of which some may be dead. */
  get length(): number {
    return this.#length
  }

  get bytes(): number {
    return this.#ids.byteLength + this.#live.byteLength
  }

  /** One byte for each row; not to be changed. */
  get live(): Uint8Array {
    return this.#live.subarray(0, this.#length)
  }

  get lastId(): number {
    return this.#length === 0 ? 0 : this.id(this.#length - 1)
  }

  id(row: number): number {
    return this.#ids[row] as number
  }

  /** `id` must be above all before it. */
  add(id: number): number {
    if (this.#length === this.#ids.length) {
      this.#ids = grown(this.#ids, Float64Array)
      this.#live = grown(this.#live, Uint8Array)
    }
    this.#ids[this.#length] = id
    this.#live[this.#length] = 1
    return this.#length++
  }

  remove(id: number): void {
    const row = this.find(id, 0)
    if (row < 0 || this.#live[row] === 0) return
    this.#live[row] = 0
    this.#dead++
  }

  /** The row of an id at or behind row `from`, or -1. Quick where it is near. */
  find(id: number, from: number): number {
    let low = from
    let step = 1
    while (low + step < this.#length && (this.#ids[low + step] as number) <= id) {
      low += step
      step *= 2
    }
    let high = Math.min(low + step, this.#length)
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if ((this.#ids[middle] as number) <= id) low = middle
      else high = middle
    }
    return low < this.#length && this.#ids[low] === id ? low : -1
  }

  /** The rows to keep, where enough are dead to let them go. `compact` must follow. */
  compactable(): Uint32Array | undefined {
    if (this.#dead < MIN_DEAD || this.#dead < this.#length * DEAD_SHARE) return undefined
    const kept = new Uint32Array(this.#length - this.#dead)
    let next = 0
    for (let row = 0; row < this.#length; row++) if (this.#live[row] === 1) kept[next++] = row
    return kept
  }

  compact(kept: Uint32Array): void {
    this.#ids = gathered(this.#ids, kept, Float64Array)
    this.#live = new Uint8Array(this.#ids.length).fill(1, 0, kept.length)
    this.#length = kept.length
    this.#dead = 0
  }
}

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array

/** The same with room for a quarter more. */
export function grown<Array extends Numbers>(from: Array, make: new (length: number) => Array): Array {
  const to = new make(Math.ceil(from.length * 1.25))
  to.set(from)
  return to
}

/** The values of some rows, with room for more. */
export function gathered<Array extends Numbers>(
  from: Array,
  rows: Uint32Array,
  make: new (length: number) => Array,
): Array {
  const to = new make(Math.max(1_024, Math.ceil(rows.length * 1.125)))
  for (let i = 0; i < rows.length; i++) to[i] = from[rows[i] as number] as number
  return to
}

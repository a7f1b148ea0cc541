/** A text of each document of which there are few: a number by row, and the texts. */
import { compareUtf8 } from '../../../util/bytes.ts'
import { gathered, grown } from './rows.ts'

export class CodedTexts {
  #codes: Uint16Array | Uint32Array = new Uint16Array(1_024)
  #length = 0
  #texts: string[] = []
  #byText = new Map<string, number>()
  #ranks = new Float64Array(0)

  get bytes(): number {
    return this.#codes.byteLength + this.#texts.length * TEXT_BYTES
  }

  /** By row: a place in `texts`. */
  get codes(): Uint16Array | Uint32Array {
    return this.#codes
  }

  get texts(): readonly string[] {
    return this.#texts
  }

  /** By code (`ranksOf`). */
  get ranks(): Float64Array<ArrayBuffer> {
    if (this.#ranks.length !== this.#texts.length) this.#ranks = ranksOf(this.#texts)
    return this.#ranks
  }

  /** For the next row. */
  add(text: string): void {
    let code = this.#byText.get(text)
    if (code === undefined) {
      code = this.#texts.push(text) - 1
      this.#byText.set(text, code)
      if (code === 0x1_0000) this.#codes = Uint32Array.from(this.#codes)
    }
    if (this.#length === this.#codes.length) {
      this.#codes =
        this.#codes instanceof Uint16Array ? grown(this.#codes, Uint16Array) : grown(this.#codes, Uint32Array)
    }
    this.#codes[this.#length++] = code
  }

  codeOf(text: string): number | undefined {
    return this.#byText.get(text)
  }

  compact(kept: Uint32Array): void {
    const codes = this.#codes
    this.#codes = codes instanceof Uint16Array ? gathered(codes, kept, Uint16Array) : gathered(codes, kept, Uint32Array)
    this.#length = kept.length
  }
}

/** The place of each text among all, in the order of `keys` (each text's first key, then its second); equal ones share it. */
export function ranksOf(keys: readonly string[]): Float64Array<ArrayBuffer> {
  const order = Array.from(keys.keys()).sort((a, b) => compareUtf8(keys[a] as string, keys[b] as string))
  const ranks = new Float64Array(keys.length)
  let rank = 0
  for (const [i, code] of order.entries()) {
    if (i > 0 && keys[code] !== keys[order[i - 1] as number]) rank++
    ranks[code] = rank
  }
  return ranks
}

/** Where a key stands among others: at its equal, else halfway to the next. */
export function rankAmong(keys: readonly string[], ranks: Float64Array, key: string): number {
  let below = -1
  for (const [code, own] of keys.entries()) {
    if (own === key) return ranks[code] as number
    if (compareUtf8(own, key) < 0) below = Math.max(below, ranks[code] as number)
  }
  return below + 0.5
}

/** Of a string and its entry in the map, about. */
const TEXT_BYTES = 120

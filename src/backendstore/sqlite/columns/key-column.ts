/**
 * The sort keys of one path: two bytes a document while there are few distinct ones, else eight (a time, a number, the
 * first bytes of a text), which tell most of the order and nothing else.
 */
import { coarseKey, MISSING, sortOfKey } from './coarse.ts'
import { rankAmong, ranksOf } from './coded-texts.ts'
import { gathered, grown } from './rows.ts'

/** Distinct values; one number is left for none. */
const MAX_ENTRIES = 0xffff

/** What a document has of the path: one key, or several of which it sorts by the first. */
export interface Entry {
  readonly keys: readonly string[]
}

export class KeyColumn {
  /** By row; 0 for none. Undefined once there are too many distinct values. */
  #codes: Uint16Array | undefined
  #numbers: Float64Array | undefined
  #length = 0
  #entries: Entry[] = [{ keys: [] }]
  #byText = new Map<string, number>()
  #textChars = 0
  #ranks: Float64Array | undefined
  /** What all keys are, once they are wide; mixed ones cannot be compared by numbers. */
  #sort: 'number' | 'time' | 'text' | 'mixed' | undefined

  #isWhole = true

  /** `wide`: it is known to have as many values as documents. */
  constructor(length: number, wide: boolean) {
    if (wide) this.#numbers = new Float64Array(1_024)
    else this.#codes = new Uint16Array(1_024)
    for (let row = 0; row < length; row++) this.add(null, undefined)
  }

  get bytes(): number {
    const arrays = (this.#codes?.byteLength ?? 0) + (this.#numbers?.byteLength ?? 0) + (this.#ranks?.byteLength ?? 0)
    return arrays + this.#entries.length * ENTRY_BYTES + this.#textChars * 2
  }

  /** A number for each row, and what it stands for; undefined where the column is wide. */
  get coded(): { readonly codes: Uint16Array; readonly entries: readonly Entry[] } | undefined {
    return this.#codes === undefined ? undefined : { codes: this.#codes, entries: this.#entries }
  }

  /** Whether every value is a time in whole seconds, which the column then holds as `YYYYMMDDhhmmss`. */
  get isOfTimes(): boolean {
    return this.#numbers !== undefined && this.#sort === 'time' && this.#isWhole
  }

  /** For the next row: its sort key, and all its values where it has several. */
  add(key: string | null, values: readonly string[] | undefined): void {
    if (this.#codes !== undefined) this.#addCode(this.#codes, key, values)
    else this.#addNumber(key)
    this.#length++
  }

  /** How the column's rows compare: ascending, missing last. Undefined where numbers cannot tell. */
  order(): { at(row: number): number; of(key: string | null): number } | undefined {
    const codes = this.#codes
    if (codes !== undefined) {
      const ranks = this.#ranked()
      return {
        at: (row) => (codes[row] === 0 ? MISSING : (ranks[codes[row] as number] as number)),
        of: (key) => this.#rankOf(key),
      }
    }
    const numbers = this.#numbers
    if (numbers === undefined || this.#sort === 'mixed') return undefined
    const sort = this.#sort
    const of = (key: string | null): number => {
      if (key === null) return MISSING
      return sortOfKey(key) === sort ? coarseKey(key) : NaN
    }
    return { at: (row) => numbers[row] as number, of }
  }

  compact(kept: Uint32Array): void {
    this.#length = kept.length
    if (this.#numbers !== undefined) {
      this.#numbers = gathered(this.#numbers, kept, Float64Array)
      return
    }
    const codes = gathered(this.#codes as Uint16Array, kept, Uint16Array)
    const entries = this.#entries
    this.#forgetEntries()
    const codeNow = new Map<number, number>([[0, 0]])
    for (let row = 0; row < kept.length; row++) {
      const before = codes[row] as number
      let code = codeNow.get(before)
      if (code === undefined) codeNow.set(before, (code = this.#addEntry(entries[before] as Entry)))
      codes[row] = code
    }
    this.#codes = codes
  }

  #addCode(codes: Uint16Array, key: string | null, values: readonly string[] | undefined): void {
    const code = this.#codeOf(key, values)
    if (code === undefined) {
      this.#widen(codes)
      this.#addNumber(key)
      return
    }
    if (this.#length === codes.length) this.#codes = codes = grown(codes, Uint16Array)
    codes[this.#length] = code
  }

  #codeOf(key: string | null, values: readonly string[] | undefined): number | undefined {
    if (key === null) return 0
    const text = values === undefined ? key : values.join('\u0000')
    const known = this.#byText.get(text)
    if (known !== undefined) return known
    if (this.#entries.length > MAX_ENTRIES) return undefined
    return this.#addEntry({ keys: values ?? [key] })
  }

  #addEntry(entry: Entry): number {
    const text = entry.keys.join('\u0000')
    this.#ranks = undefined
    this.#byText.set(text, this.#entries.length)
    this.#textChars += text.length
    return this.#entries.push(entry) - 1
  }

  #forgetEntries(): void {
    this.#entries = [{ keys: [] }]
    this.#byText = new Map()
    this.#textChars = 0
    this.#ranks = undefined
  }

  #addNumber(key: string | null): void {
    let numbers = this.#numbers as Float64Array
    if (this.#length === numbers.length) this.#numbers = numbers = grown(numbers, Float64Array)
    numbers[this.#length] = this.#numberOf(key)
  }

  #numberOf(key: string | null): number {
    if (key === null) return MISSING
    const sort = sortOfKey(key)
    this.#sort ??= sort
    if (this.#sort !== sort) this.#sort = 'mixed'
    if (key.length !== TIME_KEY_CHARS) this.#isWhole = false
    return coarseKey(key)
  }

  /** From now on only the order is kept. */
  #widen(codes: Uint16Array): void {
    const numbers = this.#entries.map(({ keys }) => this.#numberOf(keys[0] ?? null))
    this.#numbers = new Float64Array(Math.ceil(codes.length * 1.25))
    for (let row = 0; row < this.#length; row++) this.#numbers[row] = numbers[codes[row] as number] as number
    this.#codes = undefined
    this.#forgetEntries()
  }

  /** By code: the place of its first key among all. */
  #ranked(): Float64Array {
    if (this.#ranks !== undefined) return this.#ranks
    this.#ranks = ranksOf(this.#firstKeys())
    return this.#ranks
  }

  #rankOf(key: string | null): number {
    return key === null ? MISSING : rankAmong(this.#firstKeys(), this.#ranked(), key)
  }

  /** No key is empty, so that of none is the first of all. */
  #firstKeys(): string[] {
    return this.#entries.map(({ keys }) => keys[0] ?? '')
  }
}

/** `@20260102030405` */
const TIME_KEY_CHARS = 15

/** Of an entry's object, its list, its string's head and its place in the map, about. */
const ENTRY_BYTES = 160

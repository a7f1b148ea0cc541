/** What is kept of documents' names: enough to order most of them and to find a whole one. */
import { coarseText } from './coarse.ts'
import { gathered, grown } from './rows.ts'

export class Names {
  #first = new Float64Array(1_024)
  /** The same of names without regard to case; undefined while no name has capitals. */
  #firstFolded: Float64Array | undefined
  #hashes = new Uint32Array(1_024)
  #length = 0

  get bytes(): number {
    return this.#first.byteLength + (this.#firstFolded?.byteLength ?? 0) + this.#hashes.byteLength
  }

  /** `folded`: null where it is the name. */
  add(name: string, folded: string | null): void {
    if (this.#length === this.#first.length) {
      this.#first = grown(this.#first, Float64Array)
      this.#hashes = grown(this.#hashes, Uint32Array)
      if (this.#firstFolded !== undefined) this.#firstFolded = grown(this.#firstFolded, Float64Array)
    }
    if (folded !== null) this.#firstFolded ??= this.#first.slice()
    this.#first[this.#length] = coarseText(name)
    if (this.#firstFolded !== undefined) this.#firstFolded[this.#length] = coarseText(folded ?? name)
    this.#hashes[this.#length] = hash(folded ?? name)
    this.#length++
  }

  at(row: number): number {
    return this.#first[row] as number
  }

  foldedAt(row: number): number {
    return (this.#firstFolded ?? this.#first)[row] as number
  }

  /**
   * Which rows have this name, folded. By its first six bytes and 32 bits of a hash: a name made to have those of another
   * can put a document on a page where it does not belong, never change what is found.
   */
  matcher(folded: string): (row: number) => boolean {
    const first = coarseText(folded)
    const wanted = hash(folded)
    const names = this.#firstFolded ?? this.#first
    return (row) => names[row] === first && this.#hashes[row] === wanted
  }

  compact(kept: Uint32Array): void {
    this.#first = gathered(this.#first, kept, Float64Array)
    this.#hashes = gathered(this.#hashes, kept, Uint32Array)
    if (this.#firstFolded !== undefined) this.#firstFolded = gathered(this.#firstFolded, kept, Float64Array)
    this.#length = kept.length
  }
}

/** FNV-1a over UTF-16 units. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value >>> 0
}

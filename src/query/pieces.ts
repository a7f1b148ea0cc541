/** The words by which `field:word` finds a value. */
import { foldCase, isSimple, WORD } from './tokens.ts'

/** Longer values are found by their exact text and by free text, not by their pieces. */
const MAX_PIECED_CHARS = 256

/** Runs without `: @ = ,` and the like; only the last and weakest separators stay: `.`, `-`, `_`. */
const PART = /[^:@=,;|()[\]{}<>"'`!?#$%^&*+~\\/\s]+/g

/** What ASCII characters end: nothing, a word, a part, a segment. */
const [INSIDE, WORD_END, PART_END, SEGMENT_END] = [0, 1, 2, 3]
const ENDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const c = String.fromCharCode(code)
  if (/[/\s]/.test(c)) return SEGMENT_END
  if (c.match(PART) === null) return PART_END
  return c.match(WORD) === null ? WORD_END : INSIDE
})

/** So many are sooner looked through than hashed. */
const FEW = 16

/**
 * The value itself, folded, and what stands between its separators, at each of three levels (`/` and white space, then
 * `: @ = ,` and the like, then every separator); each once. For `docker.io/library/nginx:1.25`: the whole, `docker`, `io`,
 * `docker.io`, `library`, `nginx`, `1`, `25`, `1.25`, `nginx:1.25`. A value that is too long has only itself.
 */
export function pieces(value: string): readonly string[] {
  const whole = foldCase(value)
  if (value.length > MAX_PIECED_CHARS || isSimple(whole)) return [whole]
  const found = new Pieces(whole)
  return found.addAscii() ? found.list : otherPieces(whole)
}

class Pieces {
  readonly list: string[]
  readonly #whole: string
  #set: Set<string> | undefined

  constructor(whole: string) {
    this.#whole = whole
    this.list = [whole]
  }

  /** In one run, for nearly all values. False where there is more than ASCII. */
  addAscii(): boolean {
    const whole = this.#whole
    let word = 0
    let part = 0
    let segment = 0
    for (let i = 0; i <= whole.length; i++) {
      const ends = i === whole.length ? SEGMENT_END : ENDS[whole.charCodeAt(i)]
      if (ends === INSIDE) continue
      if (ends === undefined) return false
      this.#add(word, i)
      if (ends >= PART_END) {
        if (part !== word) this.#add(part, i)
        if (ends === SEGMENT_END) {
          if (segment !== part) this.#add(segment, i)
          segment = i + 1
        }
        part = i + 1
      }
      word = i + 1
    }
    return true
  }

  #add(from: number, to: number): void {
    if (from === to) return
    const piece = this.#whole.slice(from, to)
    if (this.#set !== undefined ? this.#set.has(piece) : this.list.includes(piece)) return
    this.#set?.add(piece)
    if (this.list.push(piece) === FEW) this.#set = new Set(this.list)
  }
}

function otherPieces(whole: string): readonly string[] {
  const found = new Set([whole])
  for (const segment of whole.split(/[/\s]+/)) {
    if (segment !== '') found.add(segment)
    for (const part of segment.match(PART) ?? []) found.add(part)
  }
  for (const word of whole.match(WORD) ?? []) found.add(word)
  return [...found]
}

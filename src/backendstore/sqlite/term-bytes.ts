/**
 * Terms as `encodeTerms` has them, one on each line, written as UTF-8 while they are met: without the strings of lines,
 * the joined text and the one with its capitals marked: a document takes a twelfth less.
 */
import { NUMBER, TIME } from '../../query/sortable.ts'
import { ALL_TERM, type PathSpelling } from '../../query/term.ts'
import { numberKey, textKey, type TermForm, type TermSheet } from '../../query/term-form.ts'
import { exactValue } from '../../query/tokens.ts'
import { CAPITAL_MARK, encodeTerms, TOKEN_SEPARATOR } from './encoding.ts'

/** Room for most documents. */
const FIRST_BYTES = 64 * 1024
/** At most, of a UTF-16 unit; a capital with its mark has two. */
const UNIT_BYTES = 3

const SEPARATOR = TOKEN_SEPARATOR.charCodeAt(0)
const MARK = CAPITAL_MARK.charCodeAt(0)
const [A, Z, BEHIND_ASCII] = [0x41, 0x5a, 0x80]

/** What a document's terms are is good until the next one is begun. `spell`: its answers are kept. */
export function termBytes(spell: PathSpelling): TermForm<string, Uint8Array> {
  const sheet = new ByteSheet()
  return {
    spell,
    of(path) {
      const spelled = spell(path)
      return (terms) => terms.map((term) => spelled + term).join(TOKEN_SEPARATOR)
    },
    sheet: () => sheet.begin(),
  }
}

class ByteSheet implements TermSheet<string, Uint8Array> {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #length = 0

  begin(): this {
    this.#length = 0
    this.#put(ALL_TERM)
    return this
  }

  add(lines: string): void {
    this.#line(lines, '', '')
  }

  text(spelled: string, text: string): void {
    const value = exactValue(text)
    const key = textKey(value)
    if (!key.startsWith(TIME)) this.#line(spelled, '=', value)
    if (key !== '') this.#line(spelled, key, '')
  }

  number(spelled: string, text: string): void {
    const key = numberKey(text)
    if (key === '') this.#line(spelled, '=', text)
    else this.#line(spelled, NUMBER, key)
  }

  boolean(spelled: string, text: string): void {
    this.#line(spelled, '=', text)
  }

  empty(spelled: string): void {
    this.#line(spelled, '+', '')
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  #line(path: string, mark: string, value: string): void {
    const needed = 1 + (path.length + mark.length + value.length) * UNIT_BYTES
    if (this.#length + needed > this.#bytes.length) this.#grow(needed)
    this.#bytes[this.#length++] = SEPARATOR
    this.#put(path)
    this.#put(mark)
    this.#put(value)
  }

  /** There is room. */
  #put(text: string): void {
    const bytes = this.#bytes
    let at = this.#length
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code >= BEHIND_ASCII) {
        this.#length = at + bytes.write(encodeTerms(text.slice(i)), at)
        return
      }
      if (code >= A && code <= Z) bytes[at++] = MARK
      bytes[at++] = code
    }
    this.#length = at
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#length + needed))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}

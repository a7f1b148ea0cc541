/** Collects the words of a document's free text, one on a line. */
import { textMemo } from '../util/text-memo.ts'
import { words } from './tokens.ts'

/** A line between the words of two values: no phrase matches across it. */
export const BOUNDARY = '\u0001'

/** Above it the rest of an object is not indexed: 20 times a large pod. */
const MAX_WORD_CHARS = 64 * 1024

/** Longer texts are data, not something people look for by its words. */
const MAX_TEXT_CHARS = 1_024

const sharedWordLines = textMemo((text) => words(text).join('\n'))

/** The words of a text, one on each line. */
export function wordLines(text: string): string {
  return sharedWordLines(text.length > MAX_TEXT_CHARS ? text.slice(0, MAX_TEXT_CHARS) : text)
}

export class WordText {
  #text = ''

  /** One word on each line. */
  toString(): string {
    return this.#text
  }

  add(text: string): void {
    if (text !== '') this.addLines(wordLines(text))
  }

  /** What `wordLines` made of a text. */
  addLines(lines: string): void {
    if (lines === '' || this.#text.length > MAX_WORD_CHARS) return
    this.#text += this.#text === '' ? lines : `\n${BOUNDARY}\n${lines}`
  }
}

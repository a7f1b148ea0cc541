/**
 * Collects the terms and words of one document as text, one term or word on a line: the quickest form to make and to send.
 * Exact values must be added once for each path (a facet would count them twice); of pieces it does not matter.
 */
import { textMemo } from '../util/text-memo.ts'
import { NUMBER, sortableNumber, sortableTime, TIME } from './sortable.ts'
import { QUANTITY_TEXT } from './term.ts'
import { exactValue, isSimple, pieces, words } from './tokens.ts'

/** A line between the words of two values: no phrase matches across it. */
export const BOUNDARY = '\u0001'

/** Above it the rest of an object is not indexed: 20 times a large pod. */
const MAX_TERM_CHARS = 256 * 1024
const MAX_WORD_CHARS = 64 * 1024

/** Longer texts are data, not something people look for by its words. */
const MAX_TEXT_CHARS = 1_024

const NO_KEY = ''
const numberKey = textMemo((text) => sortableNumber(text) ?? NO_KEY)
const sharedWordLines = textMemo((text) => words(text).join('\n'))

/** The words of a text, one on each line. */
export function wordLines(text: string): string {
  return sharedWordLines(text.length > MAX_TEXT_CHARS ? text.slice(0, MAX_TEXT_CHARS) : text)
}

/** A text and its pieces, one term on each line; `path` as it is spelled, `value` in the form of `exactValue`. */
export function piecedLines(path: string, value: string): string {
  const terms = [`${path}=${value}`]
  if (!isSimple(value)) for (const piece of pieces(value)) if (piece !== value) terms.push(`${path}~${piece}`)
  return terms.join('\n')
}

/** A text of an annotation or a JSON path: a time as that, a quantity also as that. */
export function textLines(path: string, text: string): string {
  const value = exactValue(text)
  const first = value.charCodeAt(0)
  if (first > 0x39 || first < 0x2b || Number.isNaN(first)) return `${path}=${value}`
  const time = sortableTime(value)
  return time === undefined ? quantityLines(path, value) : path + TIME + time
}

export function quantityLines(path: string, value: string): string {
  const key = numberKey(value)
  const exact = `${path}=${value}`
  return key === NO_KEY ? exact : `${exact}\n${path}${QUANTITY_TEXT}${key}`
}

export function numberLine(path: string, text: string): string {
  const key = numberKey(text)
  return key === NO_KEY ? `${path}=${text}` : path + NUMBER + key
}

export class TermText {
  readonly #lines: string[]
  #chars: number

  constructor(first: string) {
    this.#lines = [first]
    this.#chars = first.length
  }

  /** One term on each line. */
  toString(): string {
    return this.#lines.join('\n')
  }

  /** One or several, each on a line. */
  add(terms: string): void {
    if (this.#chars >= MAX_TERM_CHARS) return
    this.#lines.push(terms)
    this.#chars += terms.length + 1
  }
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

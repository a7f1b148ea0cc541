/**
 * Collects the terms and words of one document as text, one term or word on a line: the quickest form to make and to send.
 * Exact values must be added once for each path (a facet would count them twice); of pieces it does not matter.
 */
import { NUMBER, sortableNumber, sortableTime, TIME } from './sortable.ts'
import { QUANTITY_TEXT, termOf } from './term.ts'
import { exactValue, isSimple, pieces, words } from './tokens.ts'

/** A line between the words of two values: no phrase matches across it. */
export const BOUNDARY = '\u0001'

/** Above it the rest of an object is not indexed: 20 times a large pod. */
const MAX_TERM_CHARS = 256 * 1024
const MAX_WORD_CHARS = 64 * 1024

/** Longer texts are data, not something people look for by its words. */
const MAX_TEXT_CHARS = 1_024

/** Names of nodes, namespaces, images and labels come again and again. Emptied when full: about 2 MB each, 20 in all. */
const MEMO_ENTRIES = 8_192
const MEMO_CHARS = 256
const MEMO_ENTRIES_PER_PATH = 512
const MEMO_PATHS = 128

function memo<Value>(compute: (text: string) => Value, entries = MEMO_ENTRIES): (text: string) => Value {
  const known = new Map<string, Value>()
  return (text) => {
    if (text.length > MEMO_CHARS) return compute(text)
    const found = known.get(text)
    if (found !== undefined) return found
    if (known.size >= entries) known.clear()
    const value = compute(text)
    known.set(text, value)
    return value
  }
}

const NO_KEY = ''
const numberKey = memo((text) => sortableNumber(text) ?? NO_KEY)
const wordLines = memo((text) => words(text).join('\n'))

/** The lines of a field's text, for each path: a node's name alone has ten pieces. */
const pathMemos = new Map<string, (value: string) => string>()

function piecedLines(path: string, value: string): string {
  let lines = pathMemos.get(path)
  if (lines === undefined) {
    if (pathMemos.size >= MEMO_PATHS) pathMemos.clear()
    pathMemos.set(path, (lines = memo((text) => linesOf(path, text), MEMO_ENTRIES_PER_PATH)))
  }
  return lines(value)
}

function linesOf(path: string, value: string): string {
  const terms = [termOf(path, '=', value)]
  if (!isSimple(value)) for (const piece of pieces(value)) if (piece !== value) terms.push(termOf(path, '~', piece))
  return terms.join('\n')
}

export class TermText {
  #text: string

  constructor(first: string) {
    this.#text = first
  }

  /** One term on each line. */
  toString(): string {
    return this.#text
  }

  add(term: string): void {
    if (this.#text.length < MAX_TERM_CHARS) this.#text += `\n${term}`
  }

  /** A text and its pieces; `value` in the form of `exactValue`. */
  addPieced(path: string, value: string): void {
    this.add(piecedLines(path, value))
  }

  /** A text of an annotation or a JSON path: a time as that, a quantity also as that. */
  addText(path: string, text: string): void {
    const value = exactValue(text)
    const first = value.charCodeAt(0)
    if (first > 0x39 || first < 0x2b || Number.isNaN(first)) return this.add(termOf(path, '=', value))
    const time = sortableTime(value)
    if (time !== undefined) return this.add(termOf(path, TIME, time))
    this.addQuantity(path, value)
  }

  addQuantity(path: string, value: string): void {
    this.add(termOf(path, '=', value))
    const key = numberKey(value)
    if (key !== NO_KEY) this.add(termOf(path, QUANTITY_TEXT, key))
  }

  addNumber(path: string, text: string): void {
    const key = numberKey(text)
    this.add(key === NO_KEY ? termOf(path, '=', text) : termOf(path, NUMBER, key))
  }
}

export class WordText {
  #text = ''

  /** One word on each line. */
  toString(): string {
    return this.#text
  }

  add(text: string): void {
    if (text === '' || this.#text.length > MAX_WORD_CHARS) return
    const lines = wordLines(text.length > MAX_TEXT_CHARS ? text.slice(0, MAX_TEXT_CHARS) : text)
    if (lines !== '') this.#text += this.#text === '' ? lines : `\n${BOUNDARY}\n${lines}`
  }
}

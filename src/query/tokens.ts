/**
 * How text becomes tokens: once, here, for documents and queries alike. Every engine is given these tokens and its own
 * analysis is switched off, which is what makes engines agree.
 */

/** A value is cut to so many UTF-8 bytes before it reaches any store: Lucene refuses longer keywords (32,766 of UTF-16). */
export const MAX_VALUE_BYTES = 8_191

/** Runs of anything but white space, ASCII punctuation and the general and CJK punctuation of Unicode. */
export const WORD = /[^\0-\x2f\x3a-\x40\x5b-\x60\x7b-\xa0\u1680\u2000-\u206f\u3000-\u303f]+/g

const SEPARATOR = /^[\0-\x2f\x3a-\x40\x5b-\x60\x7b-\xa0\u2000-\u206f\u3000-\u303f]/

const CONTROL = /[\0-\x1f\x7f]/g
const UNUSUAL = /[\0-\x1f\x7f\ud800-\udfff]/
const SIMPLE = /^[a-z0-9]*$/

/** Case-insensitive form. Locale-independent. */
export function foldCase(text: string): string {
  return text.toLowerCase()
}

/** Lower-case words in their order; separators of every sort are equal (`web-1`, `web_1` and `web 1` read the same). */
export function words(text: string): string[] {
  return foldCase(text.toWellFormed()).match(WORD) ?? []
}

export interface PlacedWord {
  readonly word: string
  /** Where it stands, in UTF-16 units. */
  readonly from: number
  readonly to: number
}

/** The words of `words`, with their places in the text. */
export function placedWords(text: string): PlacedWord[] {
  return Array.from(text.toWellFormed().matchAll(WORD), ({ 0: match, index }) => ({
    word: foldCase(match),
    from: index,
    to: index + match.length,
  }))
}

/** Whether a UTF-16 unit stands in no word. */
export function isSeparator(c: string): boolean {
  return SEPARATOR.test(c)
}

/** The form in which whole values are compared: control characters are spaces, lone surrogates U+FFFD, cut to the limit. */
export function exactValue(text: string): string {
  if (text.length * 3 <= MAX_VALUE_BYTES && !UNUSUAL.test(text)) return text
  return cutUtf8(text.toWellFormed().replace(CONTROL, ' '), MAX_VALUE_BYTES)
}

/** True where the only piece of a value is the value itself. */
export function isSimple(value: string): boolean {
  return SIMPLE.test(value)
}

/** The longest beginning of whole characters that fits into so many UTF-8 bytes. */
export function cutUtf8(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text
  const bytes = Buffer.from(text, 'utf8')
  let end = maxBytes
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/** What stands in an engine's terms besides values, for those who write them and those who ask for them. */
import type { TimeUnit } from '../../query/search-request.ts'

/** In the place of `TERM_SEPARATOR`, which JSON writes with six characters; it stands in no path and no value either. */
export const SEPARATOR = '\u007f'

/** Of times: their first characters. */
export const UNIT_MARKS: Readonly<Record<TimeUnit, string>> = {
  year: 'y',
  month: 'm',
  day: 'd',
  hour: 'h',
  minute: 'i',
}

/** The whitespace analyzer cuts longer words into several. */
export const MAX_WORD_CHARS = 255

export function cutWord(word: string): string {
  return word.length > MAX_WORD_CHARS ? word.slice(0, MAX_WORD_CHARS).toWellFormed() : word
}

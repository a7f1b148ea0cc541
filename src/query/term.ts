/**
 * One value of one path of a document as one keyword: `path␟mark value`. The whole of what field queries look at is the
 * set of a document's terms, so that a store needs one keyword field, whatever objects look like.
 *
 * Paths: a base field (`cluster`), a column (`restarts`), `label.KEY`, `annotation.KEY`, or a JSON path with its leading
 * dot, lists flattened (`.spec.containers.image`).
 */
import { isSimple, pieces } from './tokens.ts'
import type { SortableMark } from './sortable.ts'

/** Between path and mark; control characters do not occur in values (`exactValue`) and are replaced in paths. */
export const TERM_SEPARATOR = '\u001f'

/**
 * `=` the exact value; `~` a piece of it, folded (left out where it is the exact value); `+` an empty object or list,
 * which exists without a value; the others: a sortable key.
 */
export type TermMark = '=' | '~' | '+' | SortableMark

/** A term that every document has. */
export const ALL_TERM = TERM_SEPARATOR

export function termOf(path: string, mark: TermMark, value: string): string {
  return `${path}${TERM_SEPARATOR}${mark}${value}`
}

/** Adds an exact value and its pieces. `value` must be in the form of `exactValue`. */
export function addValueTerms(terms: Set<string>, path: string, value: string): void {
  terms.add(termOf(path, '=', value))
  if (isSimple(value)) return
  for (const piece of pieces(value)) terms.add(termOf(path, '~', piece))
}

/** The terms of which a document has one if a piece of the path's values is `word` (folded). */
export function wordTerms(path: string, word: string): string[] {
  const piece = termOf(path, '~', word)
  return isSimple(word) ? [termOf(path, '=', word), piece] : [piece]
}

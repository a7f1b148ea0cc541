/**
 * One value of one path of a document as one keyword: `path␟mark value`. The whole of what field queries look at is the
 * set of a document's terms, so that a store needs one keyword field, whatever objects look like.
 *
 * Paths: a field (`cluster`, `restarts`), `label.KEY`, `annotation.KEY`, or a JSON path with its leading dot, lists
 * flattened, in lower case (`.spec.containers.image`).
 */
import type { SortableMark } from './sortable.ts'
import { exactValue, foldCase } from './tokens.ts'

/** Between path and mark; control characters do not occur in values (`exactValue`) and are replaced in paths. */
export const TERM_SEPARATOR = '\u001f'

/**
 * `=` the exact text; `~` a piece of it, folded, where it is not the exact text; `+` an empty object or list, which exists
 * without a value; `$` the key of a quantity written as text. The others are the keys of values that are numbers, times,
 * versions, addresses: numbers and times have no exact text beside it.
 */
export type TermMark = '=' | '~' | '+' | '$' | SortableMark
export const QUANTITY_TEXT = '$'

/** A term that every document has. */
export const ALL_TERM = TERM_SEPARATOR

export function termOf(path: string, mark: TermMark, value: string): string {
  return spelledOut(path) + mark + value
}

/** How a path stands in front of the mark. No spelling may be the beginning of another's. */
export type PathSpelling = (path: string) => string

/** As it is. A store may have shorter ones for what it indexes (`sqlite/path-codes.ts`): half of a term is its path. */
export const spelledOut: PathSpelling = (path) => path + TERM_SEPARATOR

/** The terms of which a document has one if a piece of the path's values is `word` (folded); see `hasPieces`. */
export function wordTerms(path: string, word: string): readonly string[] {
  return [termOf(path, '=', word), termOf(path, '~', word)]
}

/** Whether values of the path have their pieces as terms; of the others a store's vocabulary has to be looked through. */
export function hasPieces(path: string): boolean {
  return !path.startsWith('.') && !path.startsWith('annotation.')
}

/** The path of a label, an annotation or a JSON key as it stands in terms. */
export function keyedPath(parent: string, key: string): string {
  const name = exactValue(key)
  return parent.startsWith('.') || parent === '' ? `${parent}.${foldCase(name)}` : `${parent}.${name}`
}

/**
 * A document's terms as an engine's fields. Terms of a named field are values of a field of their own; those of labels and
 * of paths keep the path. What results are counted by has doc values, what only finds (pieces of texts, versions, addresses)
 * has none. An engine cannot cut or join keys while it counts, so that is done here: every number is a `$` term, whatever
 * else it is, and every time has a term for each of its units.
 */
import type { SearchDocument } from '../../query/document.ts'
import { TIME_UNIT_CHARS, type TimeUnit } from '../../query/search-request.ts'
import { NUMBER, TIME } from '../../query/sortable.ts'
import { hasPieces, QUANTITY_TEXT, TERM_SEPARATOR } from '../../query/term.ts'
import { isSimple, pieces } from '../../query/tokens.ts'
import { NAMED_FIELDS } from './schema.ts'

/** Any reading as a number. */
export const ANY_NUMBER = QUANTITY_TEXT

/** Of times: their first characters. */
export const UNIT_MARKS: Readonly<Record<TimeUnit, string>> = {
  year: 'y',
  month: 'm',
  day: 'd',
  hour: 'h',
  minute: 'i',
}

export interface EngineTerms {
  /** By named field: mark and value. */
  readonly value: Readonly<Record<string, readonly string[]>>
  readonly labels: readonly string[]
  readonly paths: readonly string[]
  readonly terms: readonly string[]
}

interface Draft {
  readonly value: Record<string, string[]>
  readonly labels: string[]
  readonly paths: string[]
  readonly terms: string[]
}

export function engineTerms({ terms }: Pick<SearchDocument, 'terms'>): EngineTerms {
  const draft: Draft = { value: {}, labels: [], paths: [], terms: [] }
  for (const line of terms.split('\n')) addTerm(draft, line)
  return draft
}

function addTerm(draft: Draft, line: string): void {
  const separator = line.indexOf(TERM_SEPARATOR)
  const mark = line[separator + 1]
  if (separator <= 0 || mark === undefined) return // the term that all have
  const path = line.slice(0, separator)
  switch (mark) {
    case '=':
      addCounted(draft, path, line, separator)
      if (!hasPieces(path)) addPieces(draft, path, line.slice(separator + 2))
      return
    case NUMBER:
      addCounted(draft, path, line, separator)
      addCounted(draft, path, `${path}${TERM_SEPARATOR}${ANY_NUMBER}${line.slice(separator + 2)}`, separator)
      return
    case QUANTITY_TEXT:
      return addCounted(draft, path, line, separator)
    case TIME: {
      addCounted(draft, path, line, separator)
      const key = line.slice(separator + 2)
      for (const [unit, chars] of Object.entries(TIME_UNIT_CHARS)) {
        const term = `${path}${TERM_SEPARATOR}${UNIT_MARKS[unit as TimeUnit]}${key.slice(0, chars)}`
        addCounted(draft, path, term, separator)
      }
      return
    }
    default:
      draft.terms.push(line)
  }
}

/** Several values may share a key (two times of a day): a document has it once. */
function addCounted(draft: Draft, path: string, term: string, separator: number): void {
  if (NAMED_FIELDS.has(path)) {
    const values = (draft.value[path] ??= [])
    const value = term.slice(separator + 1)
    if (!values.includes(value)) values.push(value)
  } else if (path.startsWith('label.')) {
    draft.labels.push(term)
  } else {
    draft.paths.push(term)
  }
}

/** What other stores look up in their vocabulary: the words of a text at a path (`hasPieces`). */
function addPieces(draft: Draft, path: string, value: string): void {
  if (isSimple(value)) return
  for (const piece of pieces(value)) {
    if (piece !== value) draft.terms.push(`${path}${TERM_SEPARATOR}~${piece}`)
  }
}

/** The whitespace analyzer cuts longer words into several. */
const MAX_WORD_CHARS = 255

export function cutWord(word: string): string {
  return word.length > MAX_WORD_CHARS ? word.slice(0, MAX_WORD_CHARS).toWellFormed() : word
}

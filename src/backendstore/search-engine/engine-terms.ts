/**
 * A document's terms as an engine's fields. Terms of a named field are values of a field of their own; those of labels and
 * of paths keep the path. What results are counted by has doc values, what only finds (pieces of texts, versions, addresses)
 * has none. An engine cannot cut or join keys while it counts, so that is done here: a quantity written as text is no `$`
 * term where the document has that number as `#`, and a time of a named field has a term for each of its units.
 */
import type { SearchDocument } from '../../query/document.ts'
import { TIME_UNIT_CHARS, type TimeUnit } from '../../query/search-request.ts'
import { NUMBER, TIME } from '../../query/sortable.ts'
import { hasPieces, QUANTITY_TEXT, TERM_SEPARATOR } from '../../query/term.ts'
import { isSimple, pieces } from '../../query/tokens.ts'
import { NAMED_FIELDS } from './schema.ts'

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
  const numbers = new Set<string>()
  const quantities: [path: string, key: string][] = []
  for (const line of terms.split('\n')) {
    const separator = line.indexOf(TERM_SEPARATOR)
    if (separator <= 0) continue // the term that all have
    const path = line.slice(0, separator)
    const mark = line[separator + 1] ?? ''
    const value = line.slice(separator + 2)
    if (mark === NUMBER) numbers.add(`${path}${SEPARATOR}${value}`)
    if (mark === QUANTITY_TEXT) quantities.push([path, value])
    else addTerm(draft, path, mark, value)
  }
  for (const [path, key] of quantities) {
    if (!numbers.has(`${path}${SEPARATOR}${key}`)) addCounted(draft, path, QUANTITY_TEXT, key)
  }
  return draft
}

function addTerm(draft: Draft, path: string, mark: string, value: string): void {
  switch (mark) {
    case '=':
      addCounted(draft, path, mark, value)
      if (!hasPieces(path)) addPieces(draft, path, value)
      return
    case NUMBER:
      return addCounted(draft, path, mark, value)
    case TIME:
      addCounted(draft, path, mark, value)
      if (NAMED_FIELDS.has(path)) {
        for (const [unit, chars] of Object.entries(TIME_UNIT_CHARS)) {
          addCounted(draft, path, UNIT_MARKS[unit as TimeUnit], value.slice(0, chars))
        }
      }
      return
    default:
      draft.terms.push(path + SEPARATOR + mark + value)
  }
}

/** Several values may share a key (two times of a day): a document has it once. */
function addCounted(draft: Draft, path: string, mark: string, value: string): void {
  if (NAMED_FIELDS.has(path)) {
    const values = (draft.value[path] ??= [])
    if (!values.includes(mark + value)) values.push(mark + value)
  } else if (path.startsWith('label.')) {
    draft.labels.push(path + SEPARATOR + mark + value)
  } else {
    draft.paths.push(path + SEPARATOR + mark + value)
  }
}

/** What other stores look up in their vocabulary: the words of a text at a path (`hasPieces`). */
function addPieces(draft: Draft, path: string, value: string): void {
  if (isSimple(value)) return
  const before = `${path}${SEPARATOR}~`
  for (const piece of otherPieces(value)) draft.terms.push(before + piece)
}

/** Most texts come again and again (images, mounts, keys of tolerations): about 300 B each. */
const MAX_KNOWN = 4_096
const known = new Map<string, readonly string[]>()

function otherPieces(value: string): readonly string[] {
  let found = known.get(value)
  if (found === undefined) {
    found = [...pieces(value)].filter((piece) => piece !== value)
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(copyOf(value), found)
  }
  return found
}

/** Cut out of a document, which it would keep in memory whole. */
function copyOf(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}

/** The whitespace analyzer cuts longer words into several. */
export const MAX_WORD_CHARS = 255

export function cutWord(word: string): string {
  return word.length > MAX_WORD_CHARS ? word.slice(0, MAX_WORD_CHARS).toWellFormed() : word
}

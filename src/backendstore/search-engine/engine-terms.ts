/**
 * A document's terms as an engine's fields, in JSON. Terms of a named field are values of a field of their own; those of
 * labels and of paths keep the path. What results are counted by has doc values, what only finds (pieces of texts, versions,
 * addresses) has none. An engine cannot cut or join keys while it counts, so that is done here: a quantity written as text is
 * no `$` term where the document has that number as `#`, and a time of a named field has a term for each of its units.
 */
import { TIME_UNIT_CHARS, type TimeUnit } from '../../query/search-request.ts'
import { NUMBER, TIME } from '../../query/sortable.ts'
import { hasPieces, QUANTITY_TEXT } from '../../query/term.ts'
import { numberKey, otherPieces, textKey, type TermForm, type TermSheet } from '../../query/term-form.ts'
import { exactValue } from '../../query/tokens.ts'
import { textMemo } from '../../util/text-memo.ts'
import { SEPARATOR, UNIT_MARKS } from './term-marks.ts'
import { NAMED_FIELDS } from './schema.ts'

/** Each a JSON text. */
export interface EngineTerms {
  /** An object: by named field a list of mark and value. */
  readonly value: string
  /** Lists. */
  readonly labels: string
  readonly paths: string
  readonly terms: string
}

/** The terms of one value of a path. Items are JSON strings with their quotes, lists of them have commas between. */
export interface EnginePart {
  /** A named field, or which list counted terms go to. */
  readonly target: string
  readonly counted: readonly string[]
  readonly countedList: string
  readonly foundList: string
}

/** No field has such a name. */
const LABELS = '.labels'
const PATHS = '.paths'

export const ENGINE_TERMS: TermForm<EnginePart, EngineTerms> = {
  spell: (path) => jsonContent(path) + SEPARATOR,
  of(path) {
    const target = NAMED_FIELDS.has(path) ? path : path.startsWith('label.') ? LABELS : PATHS
    return (terms) => partOf({ path, target }, terms)
  },
  sheet: () => new EngineSheet(),
}

function partOf({ path, target }: { path: string; target: string }, terms: readonly string[]): EnginePart {
  const isNamed = target !== LABELS && target !== PATHS
  const before = isNamed ? '' : path + SEPARATOR
  const counted: string[] = []
  const found: string[] = []
  const find = (term: string): number => found.push(JSON.stringify(path + SEPARATOR + term))
  for (const term of terms) {
    const mark = term.charAt(0)
    if (mark !== '=' && mark !== NUMBER && mark !== TIME && mark !== QUANTITY_TEXT) {
      find(term)
      continue
    }
    counted.push(JSON.stringify(before + term))
    const value = term.slice(1)
    if (mark === '=' && !hasPieces(path)) for (const piece of otherPieces(value)) find(`~${piece}`)
    if (mark === TIME && isNamed) {
      for (const [unit, chars] of Object.entries(TIME_UNIT_CHARS))
        counted.push(JSON.stringify(UNIT_MARKS[unit as TimeUnit] + value.slice(0, chars)))
    }
  }
  return { target, counted, countedList: counted.join(','), foundList: found.join(',') }
}

class EngineSheet implements TermSheet<EnginePart, EngineTerms> {
  readonly #values = new Map<string, Pick<EnginePart, 'counted' | 'countedList'>>()
  /** Of named fields with several values, each term once. */
  readonly #several = new Map<string, Set<string>>()
  #labels = ''
  #paths = ''
  #found = ''
  /** Of paths, as their items are. */
  readonly #numbers: string[] = []
  readonly #quantities: [spelled: string, key: string][] = []

  add(part: EnginePart): void {
    if (part.foundList !== '') this.#found = joined(this.#found, part.foundList)
    if (part.target === PATHS) this.#paths = joined(this.#paths, part.countedList)
    else if (part.target === LABELS) this.#labels = joined(this.#labels, part.countedList)
    else this.#addValue(part)
  }

  text(spelled: string, text: string): void {
    const value = exactValue(text)
    const key = textKey(value)
    if (key.startsWith(TIME)) return this.#count(spelled, key)
    this.#count(spelled, `=${jsonContent(value)}`)
    if (key !== '') this.#quantities.push([spelled, key])
    const before = `"${spelled}~`
    for (const piece of piecesInJson(value)) this.#found = joined(this.#found, `${before}${piece}"`)
  }

  number(spelled: string, text: string): void {
    const key = numberKey(text)
    if (key === '') return this.#count(spelled, `=${text}`)
    this.#count(spelled, NUMBER + key)
    this.#numbers.push(spelled + key)
  }

  boolean(spelled: string, text: string): void {
    this.#count(spelled, `=${text}`)
  }

  empty(spelled: string): void {
    this.#found = joined(this.#found, `"${spelled}+"`)
  }

  finish(): EngineTerms {
    if (this.#quantities.length > 0) this.#countQuantities()
    let value = ''
    for (const [field, { countedList }] of this.#values) {
      const several = this.#several.get(field)
      value = joined(value, `"${field}":[${several === undefined ? countedList : [...several].join(',')}]`)
    }
    const [labels, paths, terms] = [`[${this.#labels}]`, `[${this.#paths}]`, `[${this.#found}]`]
    return { value: `{${value}}`, labels, paths, terms }
  }

  /** Several values of a field may share a key (two times of a day): a document has it once. */
  #addValue({ target, counted, countedList }: EnginePart): void {
    const first = this.#values.get(target)
    if (first === undefined) return void this.#values.set(target, { counted, countedList })
    let several = this.#several.get(target)
    if (several === undefined) this.#several.set(target, (several = new Set(first.counted)))
    for (const term of counted) several.add(term)
  }

  #count(spelled: string, term: string): void {
    this.#paths = joined(this.#paths, `"${spelled}${term}"`)
  }

  #countQuantities(): void {
    const numbers = new Set(this.#numbers)
    for (const [spelled, key] of this.#quantities) {
      if (!numbers.has(spelled + key.slice(QUANTITY_TEXT.length))) this.#count(spelled, key)
    }
  }
}

function joined(list: string, items: string): string {
  return list === '' ? items : `${list},${items}`
}

/** Of the pieces of a text, which come again and again (images, mounts, keys of tolerations). */
const piecesInJson = textMemo((value) => otherPieces(value).map(jsonContent))

/** A text without control characters and lone surrogates as it stands between the quotes of a JSON string. */
function jsonContent(text: string): string {
  return text.includes('"') || text.includes('\\') ? JSON.stringify(text).slice(1, -1) : text
}

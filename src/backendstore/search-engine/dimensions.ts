/** What documents are counted by, as terms of an engine's fields. */
import { TIME_UNIT_CHARS, type Dimension } from '../../query/search-request.ts'
import { NUMBER, TIME } from '../../query/sortable.ts'
import { QUANTITY_TEXT } from '../../query/term.ts'
import { UNIT_MARKS } from './term-marks.ts'
import { hasAny, placeOf } from './filter.ts'
import { ANY_END, literalRegex, not, type Query } from './query.ts'
import { FIELD, NAMED_FIELDS } from './schema.ts'

export interface CountedTerms {
  readonly field: string
  /** The terms that count, as a regular expression of Lucene. */
  readonly include: string
  /** Documents without any. */
  readonly missing: Query
  /** Several terms of a document may have the same key, so that counts of terms are none of documents. */
  readonly joined: boolean
  /** The key of a term of the field; undefined for one that does not count. */
  keyOf(term: string): string | undefined
  /** The term of a key: of a dimension of values. */
  termOf(key: string): string
}

/** Whether only the beginning of a term is its key: of times of paths, which have no terms for their units. */
function isCut({ path, ...dimension }: Dimension): boolean {
  return dimension.type === 'time' && dimension.unit !== undefined && !NAMED_FIELDS.has(path)
}

/** Marks of terms with the mark of their keys. */
type Marks = Readonly<Record<string, string>>

const VALUE: Marks = { '=': '=', [NUMBER]: NUMBER, [TIME]: TIME }

function marksOf(dimension: Dimension): Marks {
  switch (dimension.type) {
    case 'value':
      return VALUE
    case 'number':
      return { [NUMBER]: NUMBER, [QUANTITY_TEXT]: NUMBER }
    case 'time':
      return { [dimension.unit === undefined || isCut(dimension) ? TIME : UNIT_MARKS[dimension.unit]]: TIME }
  }
}

export function countedTerms(dimension: Dimension): CountedTerms {
  const { path } = dimension
  const marks = marksOf(dimension)
  const names = Object.keys(marks)
  const { field, prefix } = placeOf(path, names[0] as string)
  const whole = dimension.type === 'value' && NAMED_FIELDS.has(path)
  const joined = isCut(dimension)
  const length = dimension.type === 'time' && dimension.unit !== undefined ? TIME_UNIT_CHARS[dimension.unit] : undefined
  return {
    field,
    joined,
    include: `${literalRegex(prefix)}[${names.map(literalRegex).join('')}]${ANY_END}`,
    missing: not(whole ? { exists: { field: FIELD.value(path) } } : hasAny(path, names)),
    keyOf(term) {
      const mark = term.startsWith(prefix) ? marks[term[prefix.length] ?? ''] : undefined
      return mark === undefined ? undefined : mark + term.slice(prefix.length + 1).slice(0, length)
    },
    termOf: (key) => prefix + key,
  }
}

/** A predicate as a query of an engine: exact, without analysis, each condition a term, a range or a pattern of terms. */
import { luceneRegex } from '../../query/regex-lucene.ts'
import type { Predicate, TextPredicate } from '../../query/resolve.ts'
import { NUMBER } from '../../query/sortable.ts'
import { QUANTITY_TEXT, type TermMark } from '../../query/term.ts'
import { cutWord, SEPARATOR } from './term-marks.ts'
import { and, anyOf, EVERYTHING, literalWildcard, not, or, type Query } from './query.ts'
import { FIELD, NAMED_FIELDS } from './schema.ts'

export type TextTier = keyof typeof FIELD.text
export const TEXT_TIERS: readonly TextTier[] = ['name', 'strong', 'other']

/** The largest that Lucene is asked for; the default of 10,000 is less than long patterns need. */
const MAX_STATES = 100_000

/** Words that a prefix behind other words of a phrase may stand for. */
const MAX_EXPANSIONS = 100_000

/** Where terms of a path with such a mark stand, and what stands in front of the mark there. */
export interface Place {
  readonly field: string
  readonly prefix: string
}

/** Marks of what is counted; all others only find. */
const COUNTED: ReadonlySet<string> = new Set(['=', '#', '@', '$', 'y', 'm', 'd', 'h', 'i'])

export function placeOf(path: string, mark: string): Place {
  const prefix = path + SEPARATOR
  if (!COUNTED.has(mark)) return { field: FIELD.terms, prefix }
  if (NAMED_FIELDS.has(path)) return { field: FIELD.value(path), prefix: '' }
  return { field: path.startsWith('label.') ? FIELD.labels : FIELD.paths, prefix }
}

export function compileFilter(predicate: Predicate): Query {
  switch (predicate.type) {
    case 'all':
      return EVERYTHING
    case 'and':
      return and(predicate.children.map(compileFilter))
    case 'or':
      return or(predicate.children.map(compileFilter))
    case 'not':
      return not(compileFilter(predicate.child))
    case 'exact':
      return term(predicate.path, '=', predicate.value)
    case 'word':
      return or([term(predicate.path, '=', predicate.word), term(predicate.path, '~', predicate.word)])
    case 'glob':
      return or(['=', '~'].map((mark) => glob(predicate.path, mark, predicate.word)))
    case 'exists':
      return exists(predicate.path, predicate.nested)
    case 'compare':
      return compare(predicate)
    case 'keyPrefix':
      return or(predicate.prefixes.map((key) => beginning(predicate.path, predicate.mark, key)))
    case 'regex': {
      const { field, prefix } = placeOf(predicate.path, '=')
      const value = luceneRegex(predicate.regex, `${prefix}=`)
      return { regexp: { [field]: { value, flags: 'NONE', max_determinized_states: MAX_STATES } } }
    }
    case 'phrase':
    case 'wordGlob':
      return compileText(predicate, TEXT_TIERS)
  }
}

/** Free text in some of the tiers. */
export function compileText(text: TextPredicate, tiers: readonly TextTier[]): Query {
  return or(tiers.map((tier) => textQuery(text, FIELD.text[tier])))
}

function textQuery(text: TextPredicate, field: string): Query {
  if (text.type === 'wordGlob') return { wildcard: { [field]: { value: escapedPattern(text.pattern) } } }
  const words = text.words.map(cutWord)
  const [word = ''] = words
  if (words.length === 1) return text.prefix ? { prefix: { [field]: word } } : { term: { [field]: word } }
  const query = words.join(' ')
  if (!text.prefix) return { match_phrase: { [field]: query } }
  return { match_phrase_prefix: { [field]: { query, max_expansions: MAX_EXPANSIONS } } }
}

function term(path: string, mark: string, value: string): Query {
  const { field, prefix } = placeOf(path, mark)
  return { term: { [field]: prefix + mark + value } }
}

function beginning(path: string, mark: string, value: string): Query {
  const { field, prefix } = placeOf(path, mark)
  return { prefix: { [field]: prefix + mark + value } }
}

/** What is folded is found as it stands, and as a piece where it is not. */
function glob(path: string, mark: string, pattern: string): Query {
  const { field, prefix } = placeOf(path, mark)
  return { wildcard: { [field]: { value: literalWildcard(prefix + mark) + escapedPattern(pattern) } } }
}

/** `*` and `?` mean the same to an engine. */
function escapedPattern(pattern: string): string {
  return pattern.replaceAll('\\', '\\\\')
}

function exists(path: string, nested: boolean): Query {
  if (NAMED_FIELDS.has(path)) return { exists: { field: FIELD.value(path) } }
  const fields = path.startsWith('label.') ? [FIELD.labels] : [FIELD.paths, FIELD.terms]
  const prefixes = nested ? [path + SEPARATOR, `${path}.`] : [path + SEPARATOR]
  return or(fields.flatMap((field) => prefixes.map((prefix): Query => ({ prefix: { [field]: prefix } }))))
}

const RANGE = { '<': 'lt', '<=': 'lte', '>': 'gt', '>=': 'gte' } as const

function compare({ path, comparison, mark, key }: Predicate & { type: 'compare' }): Query {
  const marks: readonly TermMark[] = mark === NUMBER ? [NUMBER, QUANTITY_TEXT] : [mark]
  if (comparison === '=') return or(marks.map((each) => term(path, each, key)))
  return or(marks.map((each) => range(path, each, comparison, key)))
}

function range(path: string, mark: TermMark, comparison: keyof typeof RANGE, key: string): Query {
  const { field, prefix } = placeOf(path, mark)
  const first = prefix + mark
  const behind = prefix + String.fromCharCode(mark.charCodeAt(0) + 1)
  const other = comparison.startsWith('>') ? { lt: behind } : { gte: first }
  return { range: { [field]: { [RANGE[comparison]]: first + key, ...other } } }
}

/** Documents with any of these marks at the path. */
export function hasAny(path: string, marks: readonly string[]): Query {
  return or(marks.map((mark) => beginning(path, mark, '')))
}

export function exactName(folded: string): Query {
  return anyOf(FIELD.folded, [folded])
}

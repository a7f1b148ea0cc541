/**
 * A predicate as SQL over the index: wherever possible one FTS5 expression, which FTS5 evaluates document by document
 * with skips. What has too many terms for an expression becomes a query of its own over the occurrences of terms.
 */
import { globMatcher } from '../../query/glob.ts'
import { regexMatcher } from '../../query/regex-matcher.ts'
import type { Predicate, TextPredicate } from '../../query/resolve.ts'
import { NUMBER, type SortableMark } from '../../query/sortable.ts'
import {
  ALL_TERM,
  hasPieces,
  QUANTITY_TEXT,
  TERM_SEPARATOR,
  termOf,
  wordTerms,
  type TermMark,
} from '../../query/term.ts'
import { pieces } from '../../query/tokens.ts'
import { encodeTerms, encodeToken, quoted, TOKEN_SEPARATOR } from './encoding.ts'
import { keyRange } from './key-range.ts'
import type { Vocabulary } from './vocabulary.ts'

export interface IdQuery {
  readonly sql: string
  readonly params: readonly string[]
}

/** Either an FTS5 expression or a query of ids. */
export type Filter = { readonly match: string } | IdQuery

/** No document has it. */
const NO_TERM = TERM_SEPARATOR + TERM_SEPARATOR

const ALL: Filter = term(ALL_TERM)
const NONE: Filter = term(NO_TERM)
export type TextColumn = 'name' | 'strong' | 'other'
const TEXT_COLUMNS: readonly TextColumn[] = ['name', 'strong', 'other']

export function compileFilter(predicate: Predicate, vocabulary: Vocabulary): Filter {
  return new Compiler(vocabulary).compile(predicate)
}

/** The query of ids of a filter. */
export function filterSql(filter: Filter): IdQuery {
  if ('sql' in filter) return filter
  return { sql: 'SELECT rowid AS id FROM idx WHERE idx MATCH ?', params: [filter.match] }
}

class Compiler {
  readonly #vocabulary: Vocabulary

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary
  }

  compile(predicate: Predicate): Filter {
    switch (predicate.type) {
      case 'all':
        return ALL
      case 'and':
        return and(predicate.children.map((child) => this.compile(child)))
      case 'or':
        return or(predicate.children.map((child) => this.compile(child)))
      case 'not':
        return not(this.compile(predicate.child))
      case 'exact':
        return term(termOf(predicate.path, '=', predicate.value))
      case 'word':
        return this.#word(predicate.path, predicate.word)
      case 'glob':
        return this.#glob(predicate.path, predicate.word)
      case 'exists':
        return exists(predicate.path, predicate.nested)
      case 'compare':
        return this.#compare(predicate)
      case 'keyPrefix':
        return or(predicate.prefixes.map((prefix) => prefixTerm(termOf(predicate.path, predicate.mark, prefix))))
      case 'regex':
        return this.#values(predicate.path, ['='], regexMatcher(predicate.regex))
      case 'phrase':
      case 'wordGlob':
        return compileText(predicate, this.#vocabulary, TEXT_COLUMNS)
    }
  }

  #word(path: string, word: string): Filter {
    if (hasPieces(path)) return or(wordTerms(path, word).map(term))
    return this.#values(path, ['='], (value) => pieces(value).has(word))
  }

  #glob(path: string, pattern: string): Filter {
    const prefix = /^([^*?]+)\*$/.exec(pattern)?.[1]
    if (prefix !== undefined && hasPieces(path)) {
      return or((['=', '~'] as const).map((mark) => prefixTerm(termOf(path, mark, prefix))))
    }
    const matches = globMatcher(pattern)
    return this.#values(path, ['=', '~'], (value, mark) => {
      if (mark === '~') return matches(value)
      for (const piece of pieces(value)) if (matches(piece)) return true
      return false
    })
  }

  #compare(predicate: Predicate & { type: 'compare' }): Filter {
    const { path, comparison, mark, key } = predicate
    const marks: readonly TermMark[] = mark === NUMBER ? [NUMBER, QUANTITY_TEXT] : [mark]
    if (comparison === '=') return or(marks.map((each) => term(termOf(path, each, key))))
    return or(marks.flatMap((each) => this.#range(termOf(path, each, ''), mark, comparison, key)))
  }

  /** The terms in the range one by one if they are few, else by the beginnings that cover it. */
  #range(prefix: string, mark: SortableMark, comparison: '<' | '<=' | '>' | '>=', key: string): Filter[] {
    const few = this.#vocabulary.range(encodeToken(prefix), comparison, encodeToken(key))
    if (few !== undefined) return few.map((token) => ({ match: `terms : ${quoted(token)}` }))
    const { exact, prefixes } = keyRange(mark, key, comparison)
    return [...exact.map((each) => term(prefix + each)), ...prefixes.map((each) => prefixTerm(prefix + each))]
  }

  /** Documents with a value of the path that is accepted, found by looking through the vocabulary. */
  #values(path: string, marks: readonly TermMark[], accept: (value: string, mark: TermMark) => boolean): Filter {
    const prefix = path + TERM_SEPARATOR
    const wanted = (decoded: string): boolean => {
      const mark = decoded[prefix.length] as TermMark
      return marks.includes(mark) && accept(decoded.slice(prefix.length + 1), mark)
    }
    const found = this.#vocabulary.terms(encodeToken(prefix), wanted)
    if (!found.complete) return this.#vocabulary.termOccurrences(encodeToken(prefix), wanted)
    return or(found.tokens.map((token) => ({ match: `terms : ${quoted(token)}` })))
  }
}

/** Free text in some of the columns of words. */
export function compileText(text: TextPredicate, vocabulary: Vocabulary, columns: readonly TextColumn[]): Filter {
  // No term is a word, so that what is asked of all columns of words needs no filter: half the time. A term may begin as one.
  const isAnywhere = columns.length === TEXT_COLUMNS.length && !(text.type === 'phrase' && text.prefix)
  const within = isAnywhere ? '' : `{${columns.join(' ')}} : `
  if (text.type === 'phrase') {
    return { match: `${within}${quoted(text.words.join(TOKEN_SEPARATOR))}${text.prefix ? ' *' : ''}` }
  }
  const matches = globMatcher(text.pattern)
  const found = vocabulary.words(matches)
  if (!found.complete) return vocabulary.wordOccurrences(columns, matches)
  return or(found.tokens.map((token) => ({ match: within + quoted(token) })))
}

function exists(path: string, nested: boolean): Filter {
  const own = prefixTerm(path + TERM_SEPARATOR)
  return nested ? or([own, prefixTerm(`${path}.`)]) : own
}

function term(text: string): Filter {
  return { match: `terms : ${quoted(encodeTerms(text))}` }
}

function prefixTerm(text: string): Filter {
  return { match: `terms : ${quoted(encodeTerms(text))} *` }
}

export function and(filters: readonly Filter[]): Filter {
  const { matches, queries } = split(filters)
  const joined = matches.length === 0 ? [] : [{ match: joinMatches(matches, 'AND') }]
  if (queries.length === 0) return joined[0] ?? ALL
  const parts = [...joined, ...queries].map(filterSql)
  const [first, ...more] = parts
  const conditions = more.map(({ sql }) => `id IN (${sql})`).join(' AND ')
  const where = conditions === '' ? '' : ` WHERE ${conditions}`
  return { sql: `SELECT id FROM (${first?.sql ?? ''})${where}`, params: parts.flatMap(({ params }) => params) }
}

function or(filters: readonly Filter[]): Filter {
  const { matches, queries } = split(filters)
  const joined = matches.length === 0 ? [] : [{ match: joinMatches(matches, 'OR') }]
  if (queries.length === 0) return joined[0] ?? NONE
  const parts = [...joined, ...queries].map(filterSql)
  return {
    sql: parts.map(({ sql }) => `SELECT id FROM (${sql})`).join(' UNION '),
    params: parts.flatMap(({ params }) => params),
  }
}

function not(filter: Filter): Filter {
  if ('match' in filter) return { match: `(${(ALL as { match: string }).match} NOT (${filter.match}))` }
  return { sql: `SELECT id FROM doc WHERE id NOT IN (${filter.sql})`, params: filter.params }
}

function split(filters: readonly Filter[]): { matches: string[]; queries: Filter[] } {
  return {
    matches: filters.flatMap((filter) => ('match' in filter ? [filter.match] : [])),
    queries: filters.filter((filter) => 'sql' in filter),
  }
}

function joinMatches(matches: readonly string[], operator: 'AND' | 'OR'): string {
  const [first = ''] = matches
  return matches.length === 1 ? first : `(${matches.join(` ${operator} `)})`
}

/**
 * A predicate as SQL over the index: wherever possible one FTS5 expression over terms or over words, which FTS5 evaluates
 * document by document with skips; expressions over both are joined by the ids they find. What has too many terms for an
 * expression becomes a query of its own over the occurrences of terms.
 */
import type { DatabaseSync } from 'node:sqlite'
import { globMatcher } from '../../query/glob.ts'
import { regexMatcher } from '../../query/regex-matcher.ts'
import type { Predicate, TextPredicate } from '../../query/resolve.ts'
import { NUMBER, type SortableMark } from '../../query/sortable.ts'
import { ALL_TERM, hasPieces, QUANTITY_TEXT, TERM_SEPARATOR, type TermMark } from '../../query/term.ts'
import { pieces } from '../../query/pieces.ts'
import { after, encodeTerms, encodeToken, quoted, TOKEN_SEPARATOR } from './encoding.ts'
import { keyRange } from './key-range.ts'
import { pathSpelling, spellingsBelow } from './path-codes.ts'
import { TERMS, WORDS } from './schema.ts'
import type { Vocabulary } from './vocabulary.ts'

export interface IdQuery {
  readonly sql: string
  readonly params: readonly string[]
}

export interface Match {
  readonly table: typeof TERMS | typeof WORDS
  /** An FTS5 expression. */
  readonly match: string
}

/** Either an FTS5 expression over a table or a query of ids. */
export type Filter = Match | IdQuery

/** Of a text: the whole, and its pieces. */
const TEXT_MARKS: readonly TermMark[] = ['=', '~']

/** No document has it. */
const NO_TERM = TERM_SEPARATOR + TERM_SEPARATOR

const ALL = term(ALL_TERM)
const NONE = term(NO_TERM)
export type TextColumn = 'name' | 'strong' | 'other'
const TEXT_COLUMNS: readonly TextColumn[] = ['name', 'strong', 'other']

/** More beginnings are slower to put into an expression than to run through one after another. */
const MAX_BEGINNINGS = 500

export function compileFilter(predicate: Predicate, db: DatabaseSync, vocabulary: Vocabulary): Filter {
  return new Compiler(db, vocabulary).compile(predicate)
}

/** The query of ids of a filter. */
export function filterSql(filter: Filter): IdQuery {
  if ('sql' in filter) return filter
  const { table, match } = filter
  return { sql: `SELECT rowid AS id FROM ${table} WHERE ${table} MATCH ?`, params: [match] }
}

class Compiler {
  readonly #db: DatabaseSync
  readonly #vocabulary: Vocabulary

  constructor(db: DatabaseSync, vocabulary: Vocabulary) {
    this.#db = db
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
        return term(`${this.#spell(predicate.path)}=${predicate.value}`)
      case 'word':
        return this.#word(predicate.path, predicate.word)
      case 'glob':
        return this.#glob(predicate.path, predicate.word)
      case 'exists':
        return this.#exists(predicate.path, predicate.nested)
      case 'compare':
        return this.#compare(predicate)
      case 'keyPrefix': {
        const before = this.#spell(predicate.path) + predicate.mark
        return or(predicate.prefixes.map((prefix) => prefixTerm(before + prefix)))
      }
      case 'regex':
        return this.#values(predicate.path, ['='], regexMatcher(predicate.regex))
      case 'phrase':
      case 'wordGlob':
        return compileText(predicate, this.#vocabulary, TEXT_COLUMNS)
    }
  }

  #word(path: string, word: string): Filter {
    if (hasPieces(path)) return or(TEXT_MARKS.map((mark) => term(this.#spell(path) + mark + word)))
    return this.#values(path, ['='], (value) => pieces(value).includes(word))
  }

  #glob(path: string, pattern: string): Filter {
    const prefix = /^([^*?]+)\*$/.exec(pattern)?.[1]
    if (prefix !== undefined && hasPieces(path)) {
      return or(TEXT_MARKS.map((mark) => prefixTerm(this.#spell(path) + mark + prefix)))
    }
    const matches = globMatcher(pattern)
    return this.#values(path, TEXT_MARKS, (value, mark) =>
      mark === '~' ? matches(value) : pieces(value).some(matches),
    )
  }

  #compare(predicate: Predicate & { type: 'compare' }): Filter {
    const { path, comparison, mark, key } = predicate
    const marks: readonly TermMark[] = mark === NUMBER ? [NUMBER, QUANTITY_TEXT] : [mark]
    const before = marks.map((each) => this.#spell(path) + each)
    if (comparison === '=') return or(before.map((each) => term(each + key)))
    return or(before.flatMap((each) => this.#range(each, mark, comparison, key)))
  }

  /** The terms in the range one by one if they are few, else by the beginnings that cover it. */
  #range(prefix: string, mark: SortableMark, comparison: '<' | '<=' | '>' | '>=', key: string): Filter[] {
    const few = this.#vocabulary.range(encodeToken(prefix), comparison, encodeToken(key))
    if (few !== undefined) return few.map(ofToken)
    const { exact, prefixes } = keyRange(mark, key, comparison)
    return [...exact.map((each) => term(prefix + each)), ...prefixes.map((each) => prefixTerm(prefix + each))]
  }

  /** Documents with a value of the path that is accepted, found by looking through the vocabulary. */
  #values(path: string, marks: readonly TermMark[], accept: (value: string, mark: TermMark) => boolean): Filter {
    const prefix = this.#spell(path)
    const wanted = (decoded: string): boolean => {
      const mark = decoded[prefix.length] as TermMark
      return marks.includes(mark) && accept(decoded.slice(prefix.length + 1), mark)
    }
    const found = this.#vocabulary.terms(encodeToken(prefix), wanted)
    if (!found.complete) return this.#vocabulary.termOccurrences(encodeToken(prefix), wanted)
    return or(found.tokens.map(ofToken))
  }

  #exists(path: string, nested: boolean): Filter {
    const own = this.#spell(path)
    const beginnings = nested ? [own, ...spellingsBelow(this.#db, `${path}.`)] : [own]
    if (beginnings.length <= MAX_BEGINNINGS) return or(beginnings.map(prefixTerm))
    const ranges = beginnings.map(encodeToken).map((from) => [from, after(from)])
    return {
      sql: `SELECT DISTINCT doc AS id FROM json_each(?) AS range CROSS JOIN temp.occurrence
            WHERE term >= range.value ->> 0 AND term < range.value ->> 1`,
      params: [JSON.stringify(ranges)],
    }
  }

  #spell(path: string): string {
    return pathSpelling(this.#db, path)
  }
}

/** Free text in some of the columns of words. */
export function compileText(text: TextPredicate, vocabulary: Vocabulary, columns: readonly TextColumn[]): Filter {
  const within = columns.length === TEXT_COLUMNS.length ? '' : `{${columns.join(' ')}} : `
  if (text.type === 'phrase') {
    return { table: WORDS, match: `${within}${quoted(text.words.join(TOKEN_SEPARATOR))}${text.prefix ? ' *' : ''}` }
  }
  const matches = globMatcher(text.pattern)
  const found = vocabulary.words(matches)
  if (!found.complete) return vocabulary.wordOccurrences(columns, matches)
  return or(found.tokens.map((token) => ({ table: WORDS, match: within + quoted(token) })))
}

function term(text: string): Match {
  return ofToken(encodeTerms(text))
}

function prefixTerm(text: string): Match {
  return { table: TERMS, match: `${quoted(encodeTerms(text))} *` }
}

function ofToken(token: string): Match {
  return { table: TERMS, match: quoted(token) }
}

function and(filters: readonly Filter[]): Filter {
  const parts = joined(filters, 'AND')
  if (parts.length < 2) return parts[0] ?? ALL
  const queries = parts.map(filterSql)
  const [first, ...more] = queries
  const conditions = more.map(({ sql }) => `id IN (${sql})`).join(' AND ')
  return {
    sql: `SELECT id FROM (${first?.sql ?? ''}) WHERE ${conditions}`,
    params: queries.flatMap(({ params }) => params),
  }
}

function or(filters: readonly Filter[]): Filter {
  const parts = joined(filters, 'OR')
  if (parts.length < 2) return parts[0] ?? NONE
  const queries = parts.map(filterSql)
  return {
    sql: queries.map(({ sql }) => `SELECT id FROM (${sql})`).join(' UNION '),
    params: queries.flatMap(({ params }) => params),
  }
}

/** Every document has the term of all; words have no such thing. */
function not(filter: Filter): Filter {
  if ('match' in filter && filter.table === TERMS) {
    return { table: TERMS, match: `(${ALL.match} NOT (${filter.match}))` }
  }
  const { sql, params } = filterSql(filter)
  return { sql: `SELECT id FROM doc WHERE id NOT IN (${sql})`, params }
}

/** Expressions over the same table as one. */
function joined(filters: readonly Filter[], operator: 'AND' | 'OR'): Filter[] {
  const matches = filters.filter((filter) => 'match' in filter)
  const expressions = ([WORDS, TERMS] as const).flatMap((table): Match[] => {
    const own = matches.filter((match) => match.table === table).map(({ match }) => match)
    return own.length === 0 ? [] : [{ table, match: joinMatches(own, operator) }]
  })
  return [...expressions, ...filters.filter((filter) => 'sql' in filter)]
}

function joinMatches(matches: readonly string[], operator: 'AND' | 'OR'): string {
  const [first = ''] = matches
  return matches.length === 1 ? first : `(${matches.join(` ${operator} `)})`
}

/**
 * Which terms the index has: for conditions that name no term (patterns, words of long values, ranges).
 * Terms are encoded here; those that a condition looks at are decoded first.
 */
import type { DatabaseSync } from 'node:sqlite'
import { after, decodeTerm } from './encoding.ts'
import type { Filter } from './filter.ts'

/** More terms than that are slower to look up one by one than to run through. */
const MAX_TERMS = 1_000

/** A range of so few distinct values is asked for value by value (restarts, replicas, cores). */
const MAX_RANGE_TERMS = 200

/** Words begin with a letter or a digit (`tokens.ts`); the boundary between values comes before all of them. */
const FIRST_WORD = '0'
const WORDS = 'SELECT term FROM temp.word WHERE term >= ?'

export interface Tokens {
  readonly tokens: readonly string[]
  /** False where there are more than `MAX_TERMS`: then `tokens` is of no use. */
  readonly complete: boolean
}

export interface CountedTerm {
  readonly term: string
  readonly count: number
}

export class Vocabulary {
  readonly #db: DatabaseSync
  #tests: ((token: string) => boolean)[] = []

  /** The connection must have the tables of `createVocabulary`. */
  constructor(db: DatabaseSync) {
    this.#db = db
    db.function('accepts', (test, token) => (this.#tests[Number(test)]?.(String(token)) === true ? 1 : 0))
  }

  /** Terms that begin so and, decoded, are accepted. */
  terms(prefix: string, accept: (term: string) => boolean): Tokens {
    const sql = 'SELECT term FROM temp.vocabulary WHERE term >= ? AND term < ?'
    return collect(this.#db.prepare(sql).iterate(prefix, after(prefix)), (token) => accept(decodeTerm(token)))
  }

  /** Free-text words that are accepted. */
  words(accept: (word: string) => boolean): Tokens {
    return collect(this.#db.prepare(WORDS).iterate(FIRST_WORD), accept)
  }

  /** The terms of a path and mark in a range, or undefined where they are many. */
  range(prefix: string, comparison: '<' | '<=' | '>' | '>=', key: string): readonly string[] | undefined {
    const upwards = comparison.startsWith('>')
    const [low, high] = upwards ? [prefix + key, after(prefix)] : [prefix, prefix + key]
    const rows = this.#db
      .prepare('SELECT term FROM temp.vocabulary WHERE term >= ? AND term <= ? LIMIT ?')
      .all(low, high, MAX_RANGE_TERMS + 2)
    if (rows.length > MAX_RANGE_TERMS) return undefined
    const bound = comparison.endsWith('=') ? undefined : prefix + key
    return rows.map((row) => (row as { term: string }).term).filter((term) => term !== bound && term.startsWith(prefix))
  }

  /** Ids of documents with a term that begins so and is accepted: a run through all its occurrences. */
  termOccurrences(prefix: string, accept: (term: string) => boolean): Filter {
    const test = this.#test((token) => accept(decodeTerm(token)))
    return {
      sql: `SELECT DISTINCT doc AS id FROM temp.occurrence WHERE term >= ? AND term < ? AND accepts(${test}, term)`,
      params: [prefix, after(prefix)],
    }
  }

  wordOccurrences(columns: readonly string[], accept: (word: string) => boolean): Filter {
    const test = this.#test(accept)
    const among = columns.map((column) => `'${column}'`).join(', ')
    return {
      sql: `SELECT DISTINCT doc AS id FROM temp.word_occurrence WHERE term >= ? AND col IN (${among}) AND accepts(${test}, term)`,
      params: [FIRST_WORD],
    }
  }

  /** Free-text words that begin so, in their order. */
  *wordsFrom(prefix: string): Generator<string> {
    const rows =
      prefix === ''
        ? this.#db.prepare(WORDS).iterate(FIRST_WORD)
        : this.#db.prepare(`${WORDS} AND term < ?`).iterate(prefix, after(prefix))
    for (const row of rows) yield (row as { term: string }).term
  }

  /** Tokens in a range that are accepted, with how many documents have them. */
  counted(from: string, to: string, accept: (token: string) => boolean): readonly CountedTerm[] {
    const sql = 'SELECT term, doc AS count FROM temp.vocabulary WHERE term >= ? AND term < ?'
    const rows = this.#db.prepare(sql).all(from, to) as unknown as CountedTerm[]
    return rows.filter(({ term }) => accept(term))
  }

  /** The same over the documents in `temp.hit`. Each document must have a token once. */
  countedAmongHits(from: string, to: string, accept: (token: string) => boolean): readonly CountedTerm[] {
    const sql = `SELECT term, count(*) AS count FROM temp.occurrence
       WHERE term >= ? AND term < ? AND accepts(${this.#test(accept)}, term) AND doc IN (SELECT id FROM temp.hit)
       GROUP BY term`
    return this.#db.prepare(sql).all(from, to) as unknown as CountedTerm[]
  }

  /** Forgets the conditions of the last search. */
  reset(): void {
    this.#tests = []
  }

  /** Occurrences of one term follow each other, so the last answer is often the next. */
  #test(accept: (token: string) => boolean): number {
    let last: string | undefined
    let answer = false
    this.#tests.push((token) => {
      if (token !== last) {
        last = token
        answer = accept(token)
      }
      return answer
    })
    return this.#tests.length - 1
  }
}

function collect(rows: Iterable<unknown>, accept: (token: string) => boolean): Tokens {
  const tokens: string[] = []
  for (const row of rows) {
    const { term } = row as { term: string }
    if (!accept(term)) continue
    tokens.push(term)
    if (tokens.length > MAX_TERMS) return { tokens: [], complete: false }
  }
  return { tokens, complete: true }
}

/** Answers searches over one connection; runs in its own thread. */
import type { DatabaseSync } from 'node:sqlite'
import type { Predicate } from '../../query/resolve.ts'
import type {
  CountRequest,
  CountResult,
  FacetRequest,
  FacetResult,
  SearchRequest,
  SearchResult,
  VocabularyRequest,
  VocabularyResult,
} from '../../query/search-request.ts'
import { foldCase } from '../../query/tokens.ts'
import { ColumnKeeper } from './columns/column-keeper.ts'
import { ColumnSearch } from './columns/column-search.ts'
import { ColumnsBehind } from './columns/index-hits.ts'
import { countRows, defineFunctions } from './counts.ts'
import { countFacets } from './facets.ts'
import { compileFilter, filterSql, type Filter } from './filter.ts'
import { valuesLike } from './likely-values.ts'
import { readPage } from './page.ts'
import { exactRank, partsRank } from './rank.ts'
import { restrict, visibleHint } from './visible.ts'
import { Vocabulary } from './vocabulary.ts'

export class IndexReader {
  readonly #db: DatabaseSync
  readonly #vocabulary: Vocabulary

  readonly #held: boolean
  /** Of the state that there is; a held one is only read from the tables. */
  readonly #columns: ColumnKeeper | undefined

  /** The connection must have the tables of `createVocabulary`. `held`: every answer is of the state there is now. */
  constructor(db: DatabaseSync, held = false) {
    this.#db = db
    this.#held = held
    if (held) db.exec('BEGIN; SELECT count(*) FROM resource')
    this.#vocabulary = new Vocabulary(db)
    this.#columns = held ? undefined : new ColumnKeeper(db)
    defineFunctions(db)
    db.function('fold', { deterministic: true }, (text) => foldCase(String(text)))
  }

  search(request: SearchRequest): SearchResult {
    return this.#reading(() => this.#search(request))
  }

  count(request: CountRequest): CountResult {
    return this.#reading(() => {
      const rest = (): CountResult => countRows(this.#db, request)
      const counted = this.#overColumns([], (columns) => columns.count(request, rest))
      if (counted !== undefined) return counted
      this.#materialise(this.#visible(request))
      return rest()
    })
  }

  vocabulary(request: VocabularyRequest): VocabularyResult {
    return this.#reading(() => {
      const all = request.predicate.type === 'all' && request.visible === undefined
      if (!all) this.#materialise(this.#visible(request))
      return valuesLike(this.#db, this.#vocabulary, request, all)
    })
  }

  /** Bytes that columns take; 0 where there are none. */
  columnBytes(): number {
    return this.#columns?.bytes ?? 0
  }

  /** Reads some of what was written into columns; false where nothing is left to read. */
  readAhead(): boolean {
    const columns = this.#columns
    return columns !== undefined && this.#reading(() => columns.readAhead())
  }

  /** All of one answer is read at one state of the store. */
  #reading<Result>(read: () => Result): Result {
    this.#db.exec(this.#held ? 'SAVEPOINT answer' : 'BEGIN')
    try {
      const result = read()
      this.#db.exec('DELETE FROM temp.hit')
      this.#db.exec(this.#held ? 'RELEASE answer' : 'COMMIT')
      return result
    } catch (error) {
      if (this.#held) this.#db.exec('ROLLBACK TO answer; RELEASE answer')
      throw error
    } finally {
      this.#vocabulary.reset()
      // Whatever failed, be it the COMMIT: left open, it would fail every search to come.
      if (!this.#held && this.#db.isTransaction) this.#db.exec('ROLLBACK')
    }
  }

  #search(request: SearchRequest): SearchResult {
    const countFacet = (facet: FacetRequest, hits: number): FacetResult =>
      countFacets(this.#db, [facet], hits)[0] as FacetResult
    const ranked = request.sort.length === 0 ? request.ranked : []
    const found = this.#overColumns(ranked, (columns) => columns.search(request, countFacet))
    return found ?? this.#searchTables(request)
  }

  /** Undefined where the columns do not answer now. */
  #overColumns<Result>(ranked: SearchRequest['ranked'], answer: (columns: ColumnSearch) => Result): Result | undefined {
    const columns = this.#columns?.current()
    if (columns === undefined) return undefined
    try {
      return answer(new ColumnSearch(this.#db, columns, this.#vocabulary, ranked))
    } catch (error) {
      if (!(error instanceof ColumnsBehind)) throw error
      this.#columns?.forget()
      this.#db.exec('DELETE FROM temp.hit')
      return undefined
    }
  }

  #searchTables(request: SearchRequest): SearchResult {
    const filter = this.#visible(request)
    const ranked = request.sort.length === 0 && request.ranked.length > 0
    // Found once if it is needed more than once; else FTS5 feeds the sort as it goes.
    const source = request.facets.length > 0 || 'sql' in filter ? this.#materialise(filter) : filter
    const { sql, params } = filterSql(source)
    const page = ranked
      ? {
          sql: `SELECT id, ${partsRank(request.ranked, this.#vocabulary)} AS rank FROM (${sql})`,
          params,
          rank: exactRank(request.ranked),
        }
      : { sql, params, rank: undefined }
    const { hits, more } = readPage(this.#db, page, request)
    const isWhole = !more && request.after === undefined
    const total = isWhole ? hits.length : this.#count(source)
    return { total, totalIsExact: true, hits, more, facets: countFacets(this.#db, request.facets, total) }
  }

  #visible(request: Pick<SearchRequest, 'predicate' | 'visible'>): Filter {
    const found = this.#found(request)
    return request.visible === undefined ? found : restrict(this.#db, found, request.visible)
  }

  /** Whatever is visible of it is left for `restrict`. */
  #found({ predicate, visible }: Pick<SearchRequest, 'predicate' | 'visible'>): Filter {
    const hint = visible === undefined ? undefined : visibleHint(visible)
    const whole: Predicate = hint === undefined ? predicate : { type: 'and', children: [predicate, hint] }
    return compileFilter(whole, this.#db, this.#vocabulary)
  }

  #materialise(filter: Filter): Filter {
    const { sql, params } = filterSql(filter)
    this.#db.prepare(`INSERT INTO temp.hit SELECT id FROM (${sql})`).run(...params)
    return { sql: 'SELECT id FROM temp.hit', params: [] }
  }

  #count(source: Filter): number {
    const { sql, params } = filterSql(source)
    return (this.#db.prepare(`SELECT count(*) AS total FROM (${sql})`).get(...params) as { total: number }).total
  }
}

/** Answers searches over one connection; runs in its own thread. */
import type { DatabaseSync } from 'node:sqlite'
import { badRequest } from '../../kube/status-error.ts'
import type { Predicate, TextPredicate } from '../../query/resolve.ts'
import {
  RANK,
  type CountRequest,
  type CountResult,
  type SearchHit,
  type SearchRequest,
  type SearchResult,
  type VocabularyRequest,
  type VocabularyResult,
} from '../../query/search-request.ts'
import { foldCase } from '../../query/tokens.ts'
import { countRows, defineFunctions } from './counts.ts'
import { countFacets } from './facets.ts'
import { compileFilter, compileText, filterSql, type Filter } from './filter.ts'
import { valuesLike } from './likely-values.ts'
import { orderOf } from './order.ts'
import { restrict, visibleHint } from './visible.ts'
import { Vocabulary } from './vocabulary.ts'

/** The columns of a hit in front of its cursor. */
const HIT_COLUMNS = 'doc.cluster, r.grp, r.version, r.resource, r.kind, doc.namespace, doc.name, doc.uid'

type Row = readonly (string | number | null)[]

export class IndexReader {
  readonly #db: DatabaseSync
  readonly #vocabulary: Vocabulary

  readonly #held: boolean

  /** The connection must have the tables of `createVocabulary`. `held`: every answer is of the state there is now. */
  constructor(db: DatabaseSync, held = false) {
    this.#db = db
    this.#held = held
    if (held) db.exec('BEGIN; SELECT count(*) FROM resource')
    this.#vocabulary = new Vocabulary(db)
    defineFunctions(db)
    db.function('fold', { deterministic: true }, (text) => foldCase(String(text)))
  }

  search(request: SearchRequest): SearchResult {
    return this.#reading(() => this.#search(request))
  }

  count(request: CountRequest): CountResult {
    return this.#reading(() => {
      this.#materialise(this.#visible(request))
      return countRows(this.#db, request)
    })
  }

  vocabulary(request: VocabularyRequest): VocabularyResult {
    return this.#reading(() => {
      const all = request.predicate.type === 'all' && request.visible === undefined
      if (!all) this.#materialise(this.#visible(request))
      return valuesLike(this.#db, this.#vocabulary, request, all)
    })
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
    const filter = this.#visible(request)
    const ranks = request.sort.length === 0 && request.ranked.length > 0
    // Found once if it is needed more than once; else FTS5 feeds the sort as it goes.
    const source = request.facets.length > 0 || 'sql' in filter ? this.#materialise(filter) : filter
    const { hits, more } = this.#page(source, request, ranks ? rankOf(request.ranked, this.#vocabulary) : undefined)
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
    return compileFilter(whole, this.#vocabulary)
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

  #page(source: Filter, request: SearchRequest, rank: Rank | undefined): { hits: SearchHit[]; more: boolean } {
    const order = orderOf(this.#db, request.sort, rank?.whole)
    const behind = request.after === undefined ? undefined : order.behind(request.after)
    if (request.after !== undefined && behind === undefined) throw badRequest('the continue token is of another query')
    const { sql, params } = filterSql(source)
    // Ordered with as little as that takes; only what is on the page is looked up whole.
    const found = rank === undefined ? sql : `SELECT id, ${rank.found} AS rank FROM (${sql})`
    const page = `WITH found AS ${rank === undefined ? '' : 'MATERIALIZED'} (${found})
       SELECT doc.id AS id, ${order.columns.map((column, i) => `${column} AS k${i}`).join(', ')}
       FROM found CROSS JOIN doc ON doc.id = found.id ${order.joins}
       ${behind === undefined ? '' : `WHERE ${behind.sql}`}
       ORDER BY ${order.orderBy} LIMIT ${request.limit + 1}`
    const statement = this.#db.prepare(
      `SELECT ${HIT_COLUMNS}, ${order.columns.map((_, i) => `page.k${i}`).join(', ')}
       FROM (${page}) AS page CROSS JOIN doc ON doc.id = page.id CROSS JOIN resource r ON r.id = doc.resource`,
    )
    statement.setReturnArrays(true)
    const rows = statement.all(...params, ...(behind?.params ?? [])) as unknown as Row[]
    return {
      hits: rows.slice(0, request.limit).map((row) => hitOf(row, rank !== undefined)),
      more: rows.length > request.limit,
    }
  }
}

interface Rank {
  /** Over a document's id. */
  readonly found: string
  /** Over `found` and `doc`. */
  readonly whole: string
}

/**
 * What each text is worth in each part of a document, added up. Each part's documents are a set that SQLite makes once and
 * looks up for each document found: half the time of adding up in a table.
 */
function rankOf(texts: readonly TextPredicate[], vocabulary: Vocabulary): Rank {
  const parts = texts.flatMap((text) =>
    (['name', 'strong', 'other'] as const).map(
      (column) => `${RANK[column]} * (id IN (${literalSql(compileText(text, vocabulary, [column]))}))`,
    ),
  )
  const names = texts.flatMap((text) => (text.type === 'phrase' && !text.prefix ? [text.whole] : []))
  const exact = names.map((name) => ` + ${RANK.nameExact} * (coalesce(doc.name_fold, doc.name) = ${literal(name)})`)
  return { found: parts.join(' + '), whole: `(found.rank${exact.join('')})` }
}

/** The ids of a filter of words, which has no other parameter than its expression. */
function literalSql(filter: Filter): string {
  return 'sql' in filter ? filter.sql : `SELECT rowid FROM idx WHERE idx MATCH ${literal(filter.match)}`
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

function hitOf(row: Row, ranks: boolean): SearchHit {
  const [cluster, group, version, resource, kind, namespace, name, uid] = row as readonly string[]
  const cursor = row.slice(8)
  return {
    cluster: cluster ?? '',
    group: group ?? '',
    version: version ?? '',
    resource: resource ?? '',
    kind: kind ?? '',
    namespace: namespace ?? '',
    name: name ?? '',
    uid: uid ?? '',
    rank: ranks ? Number(cursor[0]) : 0,
    cursor,
  }
}

/** Answers over columns what `IndexReader` answers over tables. In the transaction in which they were refreshed. */
import type { DatabaseSync } from 'node:sqlite'
import { compareUtf8 } from '../../../util/bytes.ts'
import {
  RANK,
  type CountRequest,
  type CountResult,
  type FacetRequest,
  type FacetResult,
  type SearchRequest,
  type SearchResult,
} from '../../../query/search-request.ts'
import { readableKey } from '../facets.ts'
import { readPage, type Source } from '../page.ts'
import { exactNames, exactRank } from '../rank.ts'
import { restrict } from '../visible.ts'
import type { Vocabulary } from '../vocabulary.ts'
import { countInColumns } from './column-counts.ts'
import { ColumnFilter } from './column-filter.ts'
import { countCodes, groupingOf } from './column-groups.ts'
import { pageCandidates } from './column-order.ts'
import { restrictMask } from './column-visible.ts'
import type { MemoryColumns } from './columns.ts'
import { rowsOf, type Mask } from './mask.ts'
import { TextRanks } from './text-ranks.ts'

/** A facet of what stands in `temp.hit`, of which there are so many. */
export type CountFacet = (facet: FacetRequest, hits: number) => FacetResult

export class ColumnSearch {
  readonly #db: DatabaseSync
  readonly #columns: MemoryColumns
  readonly #texts: TextRanks
  readonly #filter: ColumnFilter
  readonly #ranked: SearchRequest['ranked']

  /** `ranked`: by which results are ordered; empty where they are not. */
  constructor(db: DatabaseSync, columns: MemoryColumns, vocabulary: Vocabulary, ranked: SearchRequest['ranked']) {
    this.#db = db
    this.#columns = columns
    this.#ranked = ranked
    this.#texts = new TextRanks(db, columns, vocabulary, ranked)
    this.#filter = new ColumnFilter(db, columns, vocabulary, this.#texts)
  }

  /** `countFacet`: for paths that are not held. */
  search(request: SearchRequest, countFacet: CountFacet): SearchResult {
    const found = this.#found(request)
    const rows = rowsOf(found, this.#columns.rows.length)
    const { hits, more } = readPage(this.#db, this.#page(found, rows, request), request)
    const facets = request.facets.map((facet) => {
      const counts = countsOf(this.#columns, rows, facet.path)
      return counts === undefined ? countFacet(facet, this.#toTable(rows)) : facetOf(facet, counts)
    })
    return { total: rows.length, totalIsExact: true, hits, more, facets }
  }

  /** `countRest` counts what stands in `temp.hit`, where columns do not tell. */
  count(request: CountRequest, countRest: () => CountResult): CountResult {
    const rows = rowsOf(this.#found(request), this.#columns.rows.length)
    const counted = countInColumns(this.#columns, rows, request)
    if (counted !== undefined) return counted
    this.#toTable(rows)
    return countRest()
  }

  #found({ predicate, visible }: Pick<SearchRequest, 'predicate' | 'visible'>): Mask {
    const { rows } = this.#columns
    const mask = this.#filter.found(predicate)
    if (visible !== undefined) {
      const undecided = restrictMask(this.#columns, mask, visible)
      if (undecided.length > 0) {
        const ids = { sql: 'SELECT value AS id FROM json_each(?)', params: [this.#ids(undecided)] }
        const { sql, params } = restrict(this.#db, ids, visible)
        const statement = this.#db.prepare(sql)
        statement.setReturnArrays(true)
        for (const [id] of statement.all(...params) as unknown as [number][]) mask[rows.find(id, 0)] = 1
      }
    }
    return mask
  }

  #page(found: Mask, rows: Uint32Array, request: SearchRequest): Source {
    const onPage = { ...request, limit: request.limit + 1 }
    if (this.#ranked.length === 0) {
      const candidates = pageCandidates(this.#columns, rows, onPage, undefined)
      return { sql: 'SELECT value AS id FROM json_each(?)', params: [this.#ids(candidates)], rank: undefined }
    }
    const ofParts = this.#texts.ranks(request.predicate, found)
    const candidates = pageCandidates(this.#columns, rows, onPage, this.#withNames(ofParts, rows))
    const pairs = Array.from(candidates, (row) => [this.#columns.rows.id(row), ofParts[row]])
    return {
      sql: 'SELECT value ->> 0 AS id, value ->> 1 AS rank FROM json_each(?)',
      params: [JSON.stringify(pairs)],
      rank: exactRank(this.#ranked),
    }
  }

  #withNames(ranks: Uint32Array, rows: Uint32Array): Uint32Array {
    const whole = ranks.slice()
    for (const name of exactNames(this.#ranked)) {
      const isNamed = this.#columns.names.matcher(name)
      for (const row of rows) if (isNamed(row)) whole[row] = (whole[row] as number) + RANK.nameExact
    }
    return whole
  }

  #ids(rows: Uint32Array | readonly number[]): string {
    return JSON.stringify(Array.from(rows, (row) => this.#columns.rows.id(row)))
  }

  #isInTable = false

  #toTable(rows: Uint32Array): number {
    if (!this.#isInTable) this.#db.prepare('INSERT INTO temp.hit SELECT value FROM json_each(?)').run(this.#ids(rows))
    this.#isInTable = true
    return rows.length
  }
}

function countsOf(columns: MemoryColumns, rows: Uint32Array, path: string): ReadonlyMap<string, number> | undefined {
  const grouping = groupingOf(columns, { type: 'value', path })
  if (grouping === undefined) return undefined
  const counts = new Map<string, number>()
  for (const [code, count] of countCodes(grouping, rows).entries()) {
    if (count === 0) continue
    for (const value of new Set(grouping.keys[code]?.map(readableKey))) {
      if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + count)
    }
  }
  return counts
}

function facetOf({ path, limit }: FacetRequest, counts: ReadonlyMap<string, number>): FacetResult {
  const values = [...counts].map(([value, count]) => ({ value, count }))
  values.sort((a, b) => b.count - a.count || compareUtf8(a.value, b.value))
  return { path, values: values.slice(0, limit), distinct: values.length }
}

/** One page of what was found, in its order. */
import type { DatabaseSync } from 'node:sqlite'
import { badRequest } from '../../kube/status-error.ts'
import type { SearchHit, SearchRequest } from '../../query/search-request.ts'
import type { IdQuery } from './filter.ts'
import { orderOf } from './order.ts'

/** A query of documents' ids, which are each there once. */
export interface Source extends IdQuery {
  /** Where results are ranked it has a column `rank`, and this is what a document's rank is, over `found` and `doc`. */
  readonly rank: string | undefined
}

export interface Page {
  readonly hits: SearchHit[]
  /** Whether hits are left behind the last one. */
  readonly more: boolean
}

/** The columns of a hit in front of its cursor. */
const HIT_COLUMNS = 'doc.cluster, r.grp, r.version, r.resource, r.kind, doc.namespace, doc.name, doc.uid'

type Row = readonly (string | number | null)[]

/** Ordered with as little as that takes; only what is on the page is looked up whole. */
export function readPage(
  db: DatabaseSync,
  { sql, params, rank }: Source,
  request: Pick<SearchRequest, 'sort' | 'limit' | 'after'>,
): Page {
  const order = orderOf(db, request.sort, rank)
  const behind = request.after === undefined ? undefined : order.behind(request.after)
  if (request.after !== undefined && behind === undefined) throw badRequest('the continue token is of another query')
  const page = `WITH found AS ${rank === undefined ? '' : 'MATERIALIZED'} (${sql})
     SELECT doc.id AS id, ${order.columns.map((column, i) => `${column} AS k${i}`).join(', ')}
     FROM found CROSS JOIN doc ON doc.id = found.id ${order.joins}
     ${behind === undefined ? '' : `WHERE ${behind.sql}`}
     ORDER BY ${order.orderBy} LIMIT ${request.limit + 1}`
  const statement = db.prepare(
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

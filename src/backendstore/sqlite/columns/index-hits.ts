/** What the index finds, as rows. */
import type { DatabaseSync } from 'node:sqlite'
import { filterSql, type Filter } from '../filter.ts'
import { emptyMask, type Mask } from './mask.ts'
import type { Rows } from './rows.ts'

/** The index has a document that the columns do not: they are made anew. */
export class ColumnsBehind extends Error {
  override readonly name = 'ColumnsBehind'
}

const COMMA = 0x2c

/** As one text: a third of the time of a row for each id. */
export function indexHits(db: DatabaseSync, filter: Filter, rows: Rows): Mask {
  const { sql, params } = filterSql(filter)
  const { ids } = db.prepare(`SELECT group_concat(id) AS ids FROM (${sql})`).get(...params) as { ids: string | null }
  const mask = emptyMask(rows.length)
  if (ids === null) return mask
  let id = 0
  let last = -1
  let row = -1
  for (let i = 0; i <= ids.length; i++) {
    const c = i < ids.length ? ids.charCodeAt(i) : COMMA
    if (c !== COMMA) {
      id = id * 10 + c - 0x30
      continue
    }
    row = rows.find(id, id > last ? row + 1 : 0)
    if (row < 0) throw new ColumnsBehind(`the columns have no document ${id}`)
    mask[row] = 1
    last = id
    id = 0
  }
  return mask
}

/** How many of the documents found have each combination of keys (`CountRequest`). */
import type { DatabaseSync } from 'node:sqlite'
import {
  TIME_UNIT_CHARS,
  type CountRequest,
  type CountResult,
  type CountRow,
  type Dimension,
} from '../../query/search-request.ts'
import { IP, NUMBER, TIME, VERSION } from '../../query/sortable.ts'
import { QUANTITY_TEXT, type TermMark } from '../../query/term.ts'
import { after, decodeTerm, encodeToken } from './encoding.ts'
import { slotExpression } from './order.ts'
import { pathSpelling } from './path-codes.ts'
import { SORT_SLOTS } from './schema.ts'

/** Where a dimension's keys come from: an expression over the document's rows, or a table of `(doc, key)`. */
interface Source {
  readonly key: string
  readonly joins: readonly string[]
}

const RESOURCE = 'CROSS JOIN resource r ON r.id = doc.resource'
const SORT_KEY = 'CROSS JOIN sort_key ON sort_key.id = doc.id'

/** Of rows as they are: the cheapest. */
const IDENTITY: Readonly<Record<string, Source>> = {
  cluster: { key: "'=' || doc.cluster", joins: [] },
  namespace: { key: "'=' || nullif(doc.namespace, '')", joins: [] },
  name: { key: "'=' || doc.name", joins: [] },
  uid: { key: "'=' || doc.uid", joins: [] },
  kind: { key: "'=' || r.kind", joins: [RESOURCE] },
  group: { key: "'=' || r.grp", joins: [RESOURCE] },
  apiversion: { key: "'=' || iif(r.grp = '', '', r.grp || '/') || r.version", joins: [RESOURCE] },
  resource: { key: "'=' || r.resource", joins: [RESOURCE] },
}

/** An object may have several values of these (`fields.ts`); of every other field it has one, which is its sort key. */
const SEVERAL: ReadonlySet<string> = new Set(['owner', 'node', 'image', 'ip'])

/** Over the ids in `temp.hit`. */
export function countRows(
  db: DatabaseSync,
  { dimensions, maxRows }: Pick<CountRequest, 'dimensions' | 'maxRows'>,
): CountResult {
  const sources = dimensions.map((dimension, i) => sourceOf(db, dimension, i))
  const joins = [...new Set(sources.flatMap((source) => source.joins))].sort() // CROSS before LEFT
  const keys = sources.map(({ key }, i) => `${key} AS k${i}`)
  const places = sources.map((_, i) => `k${i}`).join(', ')
  const statement = db.prepare(
    `SELECT ${[...keys, 'count(*)'].join(', ')} FROM temp.hit CROSS JOIN doc ON doc.id = hit.id ${joins.join(' ')}
     ${places === '' ? '' : `GROUP BY ${places}`} LIMIT ${maxRows + 1}`,
  )
  statement.setReturnArrays(true)
  const rows = statement.all() as unknown as (string | number | null)[][]
  for (const i of dimensions.keys()) db.exec(`DROP TABLE IF EXISTS temp.dimension${i}`)
  if (rows.length > maxRows) return { rows: [], complete: false }
  return { rows: rows.map(rowOf).filter(({ documents }) => documents > 0), complete: true }
}

function rowOf(row: readonly (string | number | null)[]): CountRow {
  return { keys: row.slice(0, -1).map((key) => (key === null ? null : String(key))), documents: Number(row.at(-1)) }
}

function sourceOf(db: DatabaseSync, dimension: Dimension, place: number): Source {
  const { type, path } = dimension
  const identity = type === 'value' && Object.hasOwn(IDENTITY, path) ? IDENTITY[path] : undefined
  if (identity !== undefined) return identity
  if (isInSlots(db, dimension)) return { key: keyOfSlot(slotExpression(db, path), dimension), joins: [SORT_KEY] }
  fillTable(db, dimension, place)
  return { key: `dimension${place}.key`, joins: [`LEFT JOIN temp.dimension${place} ON dimension${place}.doc = hit.id`] }
}

/** Whether sort keys tell it: they have no text of versions, addresses and quantities. */
export function isInSlots(db: DatabaseSync, { type, path }: Dimension): boolean {
  if (path.includes('.') || SEVERAL.has(path)) return false
  if (db.prepare('SELECT 1 FROM slot WHERE slot >= ? LIMIT 1').get(SORT_SLOTS - 1) !== undefined) return false
  if (type !== 'value') return true
  return [VERSION, IP, QUANTITY_TEXT].every((mark) => !hasTerm(db, pathSpelling(db, path) + mark))
}

function hasTerm(db: DatabaseSync, prefix: string): boolean {
  const encoded = encodeToken(prefix)
  const sql = 'SELECT 1 FROM temp.vocabulary WHERE term >= ? AND term < ? LIMIT 1'
  return db.prepare(sql).get(encoded, after(encoded)) !== undefined
}

/** A text's sort key is its folded form, U+0001, and the text (`sortableText`). */
function keyOfSlot(slot: string, dimension: Dimension): string {
  switch (dimension.type) {
    case 'value':
      return `CASE WHEN instr(${slot}, char(1)) > 0 THEN '=' || substr(${slot}, instr(${slot}, char(1)) + 1) ELSE ${slot} END`
    case 'number':
      return `CASE WHEN substr(${slot}, 1, 1) = '${NUMBER}' AND instr(${slot}, char(1)) = 0 THEN ${slot} END`
    case 'time': {
      const key = dimension.unit === undefined ? slot : `substr(${slot}, 1, ${1 + TIME_UNIT_CHARS[dimension.unit]})`
      return `CASE WHEN substr(${slot}, 1, 1) = '${TIME}' AND instr(${slot}, char(1)) = 0 THEN ${key} END`
    }
  }
}

const MARKS: Readonly<Record<Dimension['type'], readonly TermMark[]>> = {
  value: ['=', NUMBER, TIME],
  number: [NUMBER, QUANTITY_TEXT],
  time: [TIME],
}

function fillTable(db: DatabaseSync, dimension: Dimension, place: number): void {
  const table = `temp.dimension${place}`
  db.exec(`CREATE TABLE ${table} (doc INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY (doc, key)) WITHOUT ROWID`)
  const length = dimension.type === 'time' && dimension.unit !== undefined ? TIME_UNIT_CHARS[dimension.unit] : 1 << 20
  for (const mark of MARKS[dimension.type]) {
    const prefix = encodeToken(pathSpelling(db, dimension.path) + mark)
    const shown = mark === QUANTITY_TEXT ? NUMBER : mark
    const text = mark === '=' ? 'decoded(substr(term, ?))' : 'substr(term, ?)'
    db.prepare(
      `INSERT OR IGNORE INTO ${table} SELECT doc, '${shown}' || substr(${text}, 1, ${length}) FROM temp.occurrence
       WHERE term >= ? AND term < ? AND doc IN (SELECT id FROM temp.hit)`,
    ).run(prefix.length + 1, prefix, after(prefix))
  }
}

/** The SQL functions that counting needs. */
export function defineFunctions(db: DatabaseSync): void {
  db.function('decoded', { deterministic: true }, (text) => decodeTerm(String(text)))
}

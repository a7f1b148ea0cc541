/** In which order results stand, and what a page begins behind. */
import type { DatabaseSync } from 'node:sqlite'
import type { SearchCursor, SortTerm } from '../../query/search-request.ts'

/** One key of the order. Missing values (NULL) come last in both directions. */
interface Key {
  readonly sql: string
  readonly descending: boolean
  readonly nullable: boolean
}

/** What breaks ties. */
const TIES: readonly Key[] = ['doc.cluster', 'doc.namespace', 'doc.name', 'doc.uid', 'doc.resource_name'].map(
  (sql) => ({ sql, descending: false, nullable: false }),
)

/** What identity fields are in a row; the first of two folds case. */
const IDENTITY: Readonly<Record<string, readonly string[]>> = {
  cluster: ['fold(doc.cluster)', 'doc.cluster'],
  kind: ['fold(r.kind)', 'r.kind'],
  group: ['r.grp'],
  apiversion: ["iif(r.grp = '', '', r.grp || '/') || r.version"],
  resource: ['r.resource'],
  namespace: ["nullif(doc.namespace, '')"],
  name: ['coalesce(doc.name_fold, doc.name)', 'doc.name'],
  uid: ['doc.uid'],
}

export interface Order {
  /** The columns of a cursor, to select. */
  readonly columns: readonly string[]
  readonly orderBy: string
  /** What has to be joined to `doc` for it. */
  readonly joins: string
  /** What stands behind the cursor: a condition and its values, in their order. */
  behind(cursor: SearchCursor): { readonly sql: string; readonly params: SearchCursor } | undefined
}

/** `rank`: an expression over `found` and `doc`; undefined where results are not ranked. */
export function orderOf(db: DatabaseSync, sort: readonly SortTerm[], rank: string | undefined): Order {
  const keys = [
    ...sort.flatMap((term) => sortKeys(db, term)),
    ...(rank === undefined ? [] : [{ sql: rank, descending: true, nullable: false }]),
    ...TIES,
  ]
  return {
    columns: keys.map(({ sql }) => sql),
    orderBy: keys.map(orderTerm).join(', '),
    joins: joinsOf(keys),
    behind: (cursor) => (cursor.length === keys.length ? behind(keys, cursor) : undefined),
  }
}

function joinsOf(keys: readonly Key[]): string {
  const needs = (table: string): boolean => keys.some(({ sql }) => sql.includes(`${table}.`))
  return [
    needs('sort_key') ? 'CROSS JOIN sort_key ON sort_key.id = doc.id' : '',
    needs('r') ? 'CROSS JOIN resource r ON r.id = doc.resource' : '',
  ].join(' ')
}

function sortKeys(db: DatabaseSync, { path, descending }: SortTerm): Key[] {
  const identity = Object.hasOwn(IDENTITY, path) ? IDENTITY[path] : undefined
  const expressions = identity ?? [slotExpression(db, path)]
  return expressions.map((sql) => ({ sql, descending, nullable: identity === undefined || path === 'namespace' }))
}

/** The column of the document's row of sort keys that holds the path's key, which depends on the resource. */
export function slotExpression(db: DatabaseSync, path: string): string {
  const rows = db.prepare('SELECT resource, slot FROM slot WHERE path = ?').all(path) as unknown as Slot[]
  if (rows.length === 0) return 'NULL'
  return `CASE doc.resource ${rows.map(({ resource, slot }) => `WHEN ${resource} THEN sort_key.s${slot}`).join(' ')} END`
}

interface Slot {
  readonly resource: number
  readonly slot: number
}

function orderTerm({ sql, descending, nullable }: Key): string {
  return `${sql}${descending ? ' DESC' : ''}${nullable ? ' NULLS LAST' : ''}`
}

/** Behind on the first key, or equal on it and behind on the rest. */
function behind(keys: readonly Key[], cursor: SearchCursor): { sql: string; params: SearchCursor } {
  const [key, ...rest] = keys
  const [value = null, ...values] = cursor
  if (key === undefined) return { sql: 'FALSE', params: [] }
  const tail = behind(rest, values)
  if (value === null) return { sql: `(${key.sql} IS NULL AND ${tail.sql})`, params: tail.params }
  const beyond = `${key.sql} ${key.descending ? '<' : '>'} ?${key.nullable ? ` OR ${key.sql} IS NULL` : ''}`
  return { sql: `(${beyond} OR (${key.sql} = ? AND ${tail.sql}))`, params: [value, value, ...tail.params] }
}

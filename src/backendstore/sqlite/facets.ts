/** How many of the documents found have each value of a path. */
import type { DatabaseSync } from 'node:sqlite'
import type { FacetRequest, FacetResult } from '../../query/search-request.ts'
import { NUMBER, numberOfKey, TIME, timeOfKey } from '../../query/sortable.ts'
import type { TermMark } from '../../query/term.ts'
import { compareUtf8 } from '../../util/bytes.ts'
import { countRows as countKeys, isInSlots } from './counts.ts'
import { after, decodeTerm, encodeToken } from './encoding.ts'
import { pathSpelling } from './path-codes.ts'

interface Counted {
  readonly value: string
  readonly count: number
}

/** Fields that all documents of a shard share, far cheaper to count than terms. */
const OF_SHARDS: Readonly<Record<string, string>> = {
  cluster: 's.cluster',
  kind: 'r.kind',
  group: 'r.grp',
  resource: 'r.resource',
}

/** From so many hits on it pays to ask how many documents there are. */
const MANY_HITS = 20_000

/** Of all documents: from there on running through the index of names beats looking up each hit (bench/sqlite.ts). */
const WIDE = 1 / 8

/** The marks under which a value stands once, and how it reads. */
const MARKS: readonly (readonly [TermMark, (key: string) => string])[] = [
  ['=', (text) => text],
  [NUMBER, numberOfKey],
  [TIME, timeOfKey],
]

/** The value of a key, as it is shown; undefined for what is no value. */
export function readableKey(key: string): string | undefined {
  return MARKS.find(([mark]) => key.startsWith(mark))?.[1](key.slice(1))
}

/** Over the ids in `temp.hit`, of which there are `hits`. */
export function countFacets(db: DatabaseSync, facets: readonly FacetRequest[], hits: number): FacetResult[] {
  const all = hits < MANY_HITS ? undefined : documents(db)
  const wide = all !== undefined && hits > all * WIDE
  return facets.map(({ path, limit }) => {
    const counts = countsOf(db, path, wide, hits === all)
    counts.sort((a, b) => b.count - a.count || compareUtf8(a.value, b.value))
    return { path, values: counts.slice(0, limit), distinct: counts.length }
  })
}

function documents(db: DatabaseSync): number {
  return (db.prepare('SELECT count(*) AS count FROM doc').get() as { count: number }).count
}

function countsOf(db: DatabaseSync, path: string, wide: boolean, everything: boolean): Counted[] {
  if (path === 'namespace') return countNamespaces(db)
  const ofShard = Object.hasOwn(OF_SHARDS, path) ? OF_SHARDS[path] : undefined
  return ofShard === undefined ? countValues(db, path, wide, everything) : countShards(db, ofShard, wide)
}

function countNamespaces(db: DatabaseSync): Counted[] {
  return db
    .prepare(
      `SELECT namespace AS value, count(*) AS count FROM temp.hit CROSS JOIN doc ON doc.id = hit.id
       WHERE namespace <> '' GROUP BY namespace`,
    )
    .all() as unknown as Counted[]
}

/** The index of names is in the order of shards, so that it needs no sort when it is run through. */
function countShards(db: DatabaseSync, expression: string, wide: boolean): Counted[] {
  const from = wide ? 'doc INDEXED BY doc_name WHERE id IN temp.hit' : 'temp.hit CROSS JOIN doc ON doc.id = hit.id'
  return db
    .prepare(
      `SELECT ${expression} AS value, sum(found) AS count
       FROM (SELECT shard, count(*) AS found FROM ${from} GROUP BY shard) AS counted
       JOIN shard s ON s.id = counted.shard JOIN resource r ON r.id = s.resource GROUP BY value`,
    )
    .all() as unknown as Counted[]
}

/** Of few documents their rows are looked up, where these have the value; of many the index is run through. */
function countValues(db: DatabaseSync, path: string, wide: boolean, everything: boolean): Counted[] {
  const dimension = { type: 'value', path } as const
  if (wide || !isInSlots(db, dimension)) return countTerms(db, path, everything)
  const counts = new Map<string, number>()
  for (const { keys, documents } of countKeys(db, { dimensions: [dimension], maxRows: Number.MAX_SAFE_INTEGER - 1 })
    .rows) {
    const key = keys[0] ?? null
    const value = key === null ? undefined : readableKey(key)
    if (value === undefined) continue
    counts.set(value, (counts.get(value) ?? 0) + documents)
  }
  return [...counts].map(([value, count]) => ({ value, count }))
}

/** `everything`: every document was found, so that the vocabulary tells. */
export function countTerms(db: DatabaseSync, path: string, everything: boolean): Counted[] {
  const statement = db.prepare(
    everything
      ? 'SELECT term, doc FROM temp.vocabulary WHERE term >= ? AND term < ?'
      : `SELECT term, count(*) FROM temp.occurrence
         WHERE term >= ? AND term < ? AND doc IN (SELECT id FROM temp.hit) GROUP BY term`,
  )
  statement.setReturnArrays(true)
  const found = new Map<string, { terms: string[]; count: number }>()
  for (const [mark, read] of MARKS) {
    const prefix = encodeToken(pathSpelling(db, path) + mark)
    // All at once, as lists: of many values half the time of an object for each as it comes.
    for (const [term, count] of statement.all(prefix, after(prefix)) as unknown as [string, number][]) {
      const value = read(decodeTerm(term.slice(prefix.length)))
      const known = found.get(value)
      if (known === undefined) found.set(value, { terms: [term], count })
      else known.terms.push(term)
    }
  }
  return [...found].map(([value, { terms, count }]) => ({
    value,
    count: terms.length === 1 ? count : countDocuments(db, terms),
  }))
}

/** Of a value that is a number here and a text there; a list may hold both. */
function countDocuments(db: DatabaseSync, terms: readonly string[]): number {
  const row = db
    .prepare(
      `SELECT count(DISTINCT doc) AS count FROM temp.occurrence
       WHERE term IN (SELECT value FROM json_each(?)) AND doc IN (SELECT id FROM temp.hit)`,
    )
    .get(JSON.stringify(terms))
  return (row as { count: number }).count
}

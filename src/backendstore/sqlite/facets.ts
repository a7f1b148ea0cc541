/** How many of the documents found have each value of a path. */
import type { DatabaseSync } from 'node:sqlite'
import type { FacetRequest, FacetResult } from '../../query/search-request.ts'
import { NUMBER, numberOfKey, TIME, timeOfKey } from '../../query/sortable.ts'
import { termOf, type TermMark } from '../../query/term.ts'
import { compareUtf8 } from '../../util/bytes.ts'
import { decodeTerm, encodeTerms } from './encoding.ts'
import { after } from './vocabulary.ts'

interface Counted {
  readonly value: string
  readonly count: number
}

/** Fields that a row holds, far cheaper to count than terms. */
const IDENTITY: Readonly<Record<string, string>> = {
  cluster: 'doc.cluster',
  namespace: "nullif(doc.namespace, '')",
  kind: 'r.kind',
  group: 'r.grp',
  resource: 'r.resource',
}

/** The marks under which a value stands once, and how it reads. */
const MARKS: readonly (readonly [TermMark, (key: string) => string])[] = [
  ['=', (text) => text],
  [NUMBER, numberOfKey],
  [TIME, timeOfKey],
]

/** Over the ids in `temp.hit`. */
export function countFacet(db: DatabaseSync, { path, limit }: FacetRequest): FacetResult {
  const identity = Object.hasOwn(IDENTITY, path) ? IDENTITY[path] : undefined
  const counts = identity === undefined ? countTerms(db, path) : countRows(db, identity)
  counts.sort((a, b) => b.count - a.count || compareUtf8(a.value, b.value))
  return { path, values: counts.slice(0, limit), distinct: counts.length }
}

function countRows(db: DatabaseSync, expression: string): Counted[] {
  return db
    .prepare(
      `SELECT ${expression} AS value, count(*) AS count
       FROM temp.hit CROSS JOIN doc ON doc.id = hit.id CROSS JOIN resource r ON r.id = doc.resource
       WHERE value IS NOT NULL GROUP BY value`,
    )
    .all() as unknown as Counted[]
}

function countTerms(db: DatabaseSync, path: string): Counted[] {
  const statement = db.prepare(
    `SELECT term, count(*) AS count FROM temp.occurrence
     WHERE term >= ? AND term < ? AND doc IN (SELECT id FROM temp.hit) GROUP BY term`,
  )
  const found = new Map<string, { terms: string[]; count: number }>()
  for (const [mark, read] of MARKS) {
    const prefix = encodeTerms(termOf(path, mark, ''))
    for (const row of statement.iterate(prefix, after(prefix))) {
      const { term, count } = row as { term: string; count: number }
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

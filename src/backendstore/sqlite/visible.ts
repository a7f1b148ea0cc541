/**
 * Narrows what was found to the documents that a caller may see, by tables as large as his rights: no condition grows with
 * the number of clusters, namespaces and names that he has rights in.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Predicate } from '../../query/resolve.ts'
import type { VisibleDocuments, VisibleResource } from '../../query/search-request.ts'
import { filterSql, type Filter, type IdQuery } from './filter.ts'

/** In the place of a namespace: any. No namespace has such a name. */
const ANY = '*'

/** More namespaces than that are left to the tables alone. */
const MAX_NAMESPACE_TERMS = 100

const TABLES = `
  CREATE TEMP TABLE IF NOT EXISTS seen_cluster (cluster TEXT PRIMARY KEY, part INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TEMP TABLE IF NOT EXISTS seen_resource (
    part INTEGER NOT NULL, resource INTEGER NOT NULL, PRIMARY KEY (part, resource)) WITHOUT ROWID;
  CREATE TEMP TABLE IF NOT EXISTS seen_namespace (
    part INTEGER NOT NULL, resource INTEGER NOT NULL, namespace TEXT NOT NULL,
    PRIMARY KEY (part, resource, namespace)) WITHOUT ROWID;
  CREATE TEMP TABLE IF NOT EXISTS seen_name (
    part INTEGER NOT NULL, resource INTEGER NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (part, resource, namespace, name)) WITHOUT ROWID;
`

/**
 * What every visible document satisfies, for the index to skip the rest; undefined where nothing so simple holds. Only an
 * aid: `restrict` decides.
 */
export function visibleHint({ parts }: VisibleDocuments): Predicate | undefined {
  const namespaces = new Set<string>()
  for (const { everything, namespaces: whole, names } of parts.flat()) {
    if (everything || names.some(({ namespace }) => namespace === undefined || namespace === '')) return undefined
    for (const namespace of whole) namespaces.add(namespace)
    for (const { namespace = '' } of names) namespaces.add(namespace)
    if (namespaces.size > MAX_NAMESPACE_TERMS) return undefined
  }
  return { type: 'or', children: [...namespaces].map((value) => ({ type: 'exact', path: 'namespace', value })) }
}

/** The filter with only visible documents left. Its tables hold until the next call on this connection. */
export function restrict(db: DatabaseSync, filter: Filter, visible: VisibleDocuments): IdQuery {
  db.exec(TABLES)
  for (const table of ['seen_cluster', 'seen_resource', 'seen_namespace', 'seen_name']) db.exec(`DELETE FROM ${table}`)
  const cluster = db.prepare('INSERT INTO seen_cluster VALUES (?, ?)')
  for (const [name, part] of visible.clusters) cluster.run(name, part)
  for (const [part, resources] of visible.parts.entries()) fillPart(db, part, resources)
  const { sql, params } = filterSql(filter)
  return {
    sql: `SELECT found.id FROM (${sql}) AS found CROSS JOIN doc ON doc.id = found.id
          CROSS JOIN temp.seen_cluster c ON c.cluster = doc.cluster
          WHERE (c.part, doc.resource) IN (SELECT part, resource FROM temp.seen_resource)
             OR (c.part, doc.resource, doc.namespace) IN (SELECT part, resource, namespace FROM temp.seen_namespace)
             OR (c.part, doc.resource, doc.namespace, doc.name) IN (SELECT * FROM temp.seen_name)
             OR (c.part, doc.resource, '${ANY}', doc.name) IN (SELECT * FROM temp.seen_name)`,
    params,
  }
}

/** Resources that the store has no documents of need no row. */
function fillPart(db: DatabaseSync, part: number, resources: readonly VisibleResource[]): void {
  const known = db.prepare('SELECT id FROM resource WHERE grp = ? AND resource = ?')
  const whole = db.prepare('INSERT INTO seen_resource VALUES (?, ?)')
  const namespaced = db.prepare('INSERT OR IGNORE INTO seen_namespace VALUES (?, ?, ?)')
  const named = db.prepare('INSERT OR IGNORE INTO seen_name VALUES (?, ?, ?, ?)')
  for (const { group, resource, everything, namespaces, names } of resources) {
    const row = known.get(group, resource) as { id: number } | undefined
    if (row === undefined) continue
    if (everything) {
      whole.run(part, row.id)
      continue
    }
    for (const namespace of namespaces) namespaced.run(part, row.id, namespace)
    for (const { namespace = ANY, name } of names) named.run(part, row.id, namespace, name)
  }
}

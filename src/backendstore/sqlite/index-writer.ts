/**
 * Writes documents; runs in its own thread. FTS5 makes a segment whenever row ids do not ascend and whenever a DELETE
 * comes between two inserts, so a batch looks up and builds first, deletes in one statement, then inserts under new ids:
 * ten times the updates a second of deleting and inserting in turn.
 */
import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { columnsOf } from '../../kube/columns/index.ts'
import { DocumentBuilder, type SearchDocument } from '../../query/document.ts'
import { foldCase } from '../../query/tokens.ts'
import type { Change, ObjectName, ShardIdentity, StoredShard, Upsert, WriteSummary } from '../backend-store.ts'
import { encodeTerms } from './encoding.ts'
import { ResourceTable } from './resource-table.ts'
import { REMOVED_KEPT, SORT_SLOTS, writing } from './schema.ts'

/** Rows that one transaction deletes of a shard: it holds the lock for about a tenth of a second. */
const DROP_ROWS = 5_000

interface StoredRow {
  readonly id: number
  readonly uid: string
  readonly version: string
  readonly body_hash: number
  readonly index_hash: number
}

/** A document ready to be inserted. */
interface Prepared {
  readonly change: Upsert
  readonly document: SearchDocument
  readonly index: IndexRow
  readonly bodyHash: number
}

interface IndexRow {
  readonly columns: readonly [terms: string, name: string, strong: string, other: string]
  readonly hash: number
}

export class IndexWriter {
  readonly #db: DatabaseSync
  readonly #builder = new DocumentBuilder()
  readonly #resources: ResourceTable
  readonly #statements: Statements
  #nextId: number

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#resources = new ResourceTable(db)
    this.#statements = prepare(db)
    this.#nextId = this.#firstFreeId()
  }

  /** All or nothing. */
  write(batch: Iterable<Change>): WriteSummary {
    const changes = [...lastOfEachName(batch)]
    return this.#transaction(() => this.#apply(changes))
  }

  dropShard({ cluster, group, resource }: Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>): void {
    const id = this.#resources.find(group, resource)
    if (id === undefined) return
    let ids: number[]
    do {
      ids = this.#statements.idsOfShard.all(cluster, id, DROP_ROWS).map((row) => (row as { id: number }).id)
      this.#transaction(() => this.#delete(ids))
    } while (ids.length === DROP_ROWS)
  }

  shards(): StoredShard[] {
    return this.#statements.shards.all() as unknown as StoredShard[]
  }

  /** The row under a name; undefined where there is none. */
  row(shard: ShardIdentity, { namespace, name }: ObjectName): StoredRow | undefined {
    const resource = this.#resources.find(shard.group, shard.resource)
    if (resource === undefined) return undefined
    return this.#statements.find.get(shard.cluster, resource, namespace, name) as StoredRow | undefined
  }

  /** Every row of a shard; do not write meanwhile. */
  *rows({ cluster, group, resource }: ShardIdentity): Generator<ObjectName & { readonly id: number }> {
    const id = this.#resources.find(group, resource)
    if (id === undefined) return
    for (const row of this.#statements.namesOfShard.iterate(cluster, id))
      yield row as unknown as ObjectName & { id: number }
  }

  /** Bytes of the file without its journal. */
  size(): number {
    const { bytes } = this.#statements.size.get() as { bytes: number }
    return bytes
  }

  #apply(changes: readonly Change[]): WriteSummary {
    const stale: number[] = []
    const fresh: Prepared[] = []
    const rejected: (ShardIdentity & ObjectName & { reason: string })[] = []
    let written = 0
    let deleted = 0
    for (const change of changes) {
      const row = this.row(change, change)
      if (change.type === 'delete') {
        if (row === undefined) continue
        stale.push(row.id)
        deleted++
        continue
      }
      const bodyHash = crc32(change.bytes)
      if (isUnchanged(row, change, bodyHash)) continue
      const prepared = this.#prepare(change, bodyHash, rejected)
      if (prepared === undefined) continue
      written++
      if (row?.index_hash === prepared.index.hash) {
        this.#updateRow(row.id, prepared)
        continue
      }
      if (row !== undefined) stale.push(row.id)
      fresh.push(prepared)
    }
    this.#delete(stale)
    for (const prepared of fresh) this.#insert(prepared)
    return { written, deleted, unchanged: changes.length - written - deleted - rejected.length, rejected }
  }

  #prepare(
    change: Upsert,
    bodyHash: number,
    rejected: (ShardIdentity & ObjectName & { reason: string })[],
  ): Prepared | undefined {
    try {
      const document = this.#builder.build(change, change.bytes, columnsOf(change))
      return { change, document, index: indexRow(document), bodyHash }
    } catch (error) {
      const { cluster, group, version, resource, kind, namespace, name } = change
      const reason = error instanceof Error ? error.message : String(error)
      rejected.push({ cluster, group, version, resource, kind, namespace, name, reason })
      return undefined
    }
  }

  #insert(prepared: Prepared): void {
    const id = this.#nextId++
    const { change, document, index, bodyHash } = prepared
    const resource = this.#resources.idOf(change)
    const { cluster, namespace, name, uid, resourceVersion } = change
    const folded = foldCase(name)
    this.#statements.insertDoc.run(
      ...[id, cluster, resource, namespace, name, uid, `${change.group}/${change.resource}`],
      folded === name ? null : folded,
      ...[resourceVersion, bodyHash, index.hash],
    )
    this.#statements.insertKeys.run(id, ...this.#slots(resource, document), severalOf(document))
    this.#statements.insertIndex.run(id, ...index.columns)
  }

  /** What the index holds of it is as it was. */
  #updateRow(id: number, { change, document, bodyHash }: Prepared): void {
    this.#statements.updateDoc.run(change.uid, change.resourceVersion, bodyHash, id)
    this.#statements.insertKeys.run(id, ...this.#slots(this.#resources.idOf(change), document), severalOf(document))
  }

  #slots(resource: number, document: SearchDocument): (string | null)[] {
    const slots = new Array<string | null>(SORT_SLOTS).fill(null)
    for (const [path, key] of document.sortKeys) {
      const slot = this.#resources.slotOf(resource, path)
      if (slot !== undefined) slots[slot] = key
    }
    return slots
  }

  #delete(ids: readonly number[]): void {
    if (ids.length === 0) return
    const list = JSON.stringify(ids)
    this.#statements.deleteIndex.run(list)
    this.#statements.deleteDocs.run(list)
    this.#statements.deleteKeys.run(list)
    this.#statements.tellRemoved.run(list)
    this.#statements.forgetRemoved.run(REMOVED_KEPT)
  }

  #transaction<Result>(run: () => Result): Result {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const result = run()
      this.#db.exec('COMMIT')
      return result
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      this.#resources.reload()
      throw error // ids that were taken are not taken again: readers look for what stands behind the last they know
    }
  }

  /** Above every row of both tables, so that what is inserted ascends. */
  #firstFreeId(): number {
    return (this.#statements.maxId.get() as { id: number }).id + 1
  }
}

type Statements = ReturnType<typeof prepare>

function prepare(db: DatabaseSync) {
  return {
    find: db.prepare(
      `SELECT id, uid, version, body_hash, index_hash FROM doc
       WHERE cluster = ? AND resource = ? AND namespace = ? AND name = ?`,
    ),
    insertDoc: writing(db, `INSERT INTO doc VALUES (${parameters(11)})`),
    insertKeys: writing(db, `INSERT OR REPLACE INTO sort_key VALUES (${parameters(2 + SORT_SLOTS)})`),
    updateDoc: writing(db, 'UPDATE doc SET uid = ?, version = ?, body_hash = ? WHERE id = ?'),
    insertIndex: writing(db, 'INSERT INTO idx (rowid, terms, name, strong, other) VALUES (?, ?, ?, ?, ?)'),
    deleteIndex: writing(db, 'DELETE FROM idx WHERE rowid IN (SELECT value FROM json_each(?))'),
    deleteDocs: writing(db, 'DELETE FROM doc WHERE id IN (SELECT value FROM json_each(?))'),
    deleteKeys: writing(db, 'DELETE FROM sort_key WHERE id IN (SELECT value FROM json_each(?))'),
    tellRemoved: writing(db, 'INSERT INTO removed (doc) SELECT value FROM json_each(?)'),
    forgetRemoved: writing(db, 'DELETE FROM removed WHERE seq <= (SELECT max(seq) FROM removed) - ?'),
    idsOfShard: db.prepare('SELECT id FROM doc WHERE cluster = ? AND resource = ? LIMIT ?'),
    namesOfShard: db.prepare('SELECT id, namespace, name FROM doc WHERE cluster = ? AND resource = ?'),
    shards: db.prepare(
      `SELECT doc.cluster, r.grp AS "group", r.resource, count(*) AS objects
       FROM doc JOIN resource r ON r.id = doc.resource GROUP BY doc.cluster, doc.resource`,
    ),
    size: db.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size'),
    maxId: db.prepare(
      'SELECT max(coalesce((SELECT max(id) FROM doc), 0), coalesce((SELECT max(id) FROM idx_docsize), 0)) AS id',
    ),
  }
}

function parameters(count: number): string {
  return new Array<string>(count).fill('?').join(', ')
}

function isUnchanged(row: StoredRow | undefined, change: Upsert, bodyHash: number): boolean {
  return row?.uid === change.uid && row.version === change.resourceVersion && row.body_hash === bodyHash
}

function indexRow({ terms, nameWords, strongWords, otherWords }: SearchDocument): IndexRow {
  const columns = [encodeTerms(terms), nameWords, strongWords, otherWords] as const
  // 53 bits that SQLite and JavaScript both hold: 32 of one sum, 21 of the other.
  const termsSum = crc32(terms)
  const sum = crc32(otherWords, crc32(strongWords, termsSum))
  return { columns, hash: termsSum * 2 ** 21 + (sum & 0x1f_ffff) }
}

/** Of the fields that may have several values and are counted by them (`counts.ts`), those of which the document has several. */
function severalOf({ values }: SearchDocument): string | null {
  let several: Record<string, readonly string[]> | undefined
  for (const path of COUNTED_WHOLE) {
    const found = values.get(path)
    if (found !== undefined && found.length > 1) (several ??= {})[path] = found
  }
  return several === undefined ? null : JSON.stringify(several)
}

const COUNTED_WHOLE = ['owner', 'node', 'image'] as const

/** Only the last change of a name counts. */
function lastOfEachName(batch: Iterable<Change>): Iterable<Change> {
  const last = new Map<string, Change>()
  for (const change of batch) {
    const { cluster, group, resource, namespace, name } = change
    last.set([cluster, group, resource, namespace, name].join('\n'), change)
  }
  return last.values()
}

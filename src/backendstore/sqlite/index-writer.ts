/**
 * Writes documents; runs in its own thread. FTS5 makes a segment whenever row ids do not ascend and whenever a DELETE
 * comes between two inserts, so a batch looks up first, deletes in one statement, then inserts under new ids: ten times the
 * updates a second of deleting and inserting in turn.
 */
import type { DatabaseSync } from 'node:sqlite'
import { foldCase } from '../../query/tokens.ts'
import type { ObjectName, RefusedChange, ShardIdentity, StoredShard, WriteSummary } from '../backend-store.ts'
import type { NewPaths } from './path-codes.ts'
import { DELETE, preparedChanges, REFUSED, type PreparedBatch, type PreparedChange } from './prepared-batch.ts'
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

export class IndexWriter {
  readonly #db: DatabaseSync
  readonly #resources: ResourceTable
  readonly #statements: Statements
  #slots = new WeakMap<readonly string[], readonly (number | undefined)[]>()
  /** Of paths that have codes: what no transaction that was committed has kept yet. */
  #newPaths: NewPaths[] = []
  #nextId: number

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#resources = new ResourceTable(db)
    this.#statements = prepare(db)
    this.#nextId = this.#firstFreeId()
  }

  /** All or nothing. */
  write(batch: PreparedBatch): WriteSummary {
    if (batch.newPaths.paths.length > 0) this.#newPaths.push(batch.newPaths)
    const summary = this.#transaction(() => {
      this.#keepPaths()
      return this.#apply(batch)
    })
    this.#newPaths = []
    return summary
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

  #keepPaths(): void {
    for (const { first, paths } of this.#newPaths) {
      for (const [i, path] of paths.entries()) this.#statements.insertPath.run(first + i, path)
    }
  }

  #apply(batch: PreparedBatch): WriteSummary {
    const stale: number[] = []
    const fresh: PreparedChange[] = []
    const rejected: RefusedChange[] = []
    let written = 0
    let deleted = 0
    let unchanged = 0
    for (const change of preparedChanges(batch)) {
      if (change.type === REFUSED) {
        const { shard, namespace, name } = change
        rejected.push({ ...shard, namespace, name, reason: change.text('keys') })
        continue
      }
      const row = this.row(change.shard, change)
      if (change.type === DELETE) {
        if (row === undefined) unchanged++
        else deleted++
        if (row !== undefined) stale.push(row.id)
      } else if (isUnchanged(row, change)) {
        unchanged++
      } else {
        written++
        if (row?.index_hash === change.indexHash) {
          this.#updateRow(row.id, change)
          continue
        }
        if (row !== undefined) stale.push(row.id)
        fresh.push(change)
      }
    }
    this.#delete(stale)
    for (const change of fresh) this.#insert(change)
    return { written, deleted, unchanged, rejected }
  }

  #insert(change: PreparedChange): void {
    const id = this.#nextId++
    const { shard, namespace, name, uid, resourceVersion, bodyHash, indexHash } = change
    const resource = this.#resources.idOf(shard)
    const folded = foldCase(name)
    this.#statements.insertDoc.run(
      ...[id, shard.cluster, resource, namespace, name, uid, `${shard.group}/${shard.resource}`],
      folded === name ? null : folded,
      ...[resourceVersion, bodyHash, indexHash],
    )
    this.#insertKeys(id, resource, change)
    const columns = [change.bytes('terms'), change.bytes('name'), change.bytes('strong'), change.bytes('other')]
    this.#statements.insertIndex.run(id, ...columns)
  }

  /** What the index holds of it is as it was. */
  #updateRow(id: number, change: PreparedChange): void {
    this.#statements.updateDoc.run(change.uid, change.resourceVersion, change.bodyHash, id)
    this.#insertKeys(id, this.#resources.idOf(change.shard), change)
  }

  #insertKeys(id: number, resource: number, change: PreparedChange): void {
    const row = new Array<string | null>(SORT_SLOTS).fill(null)
    const slots = this.#slotsOf(resource, change.sortPaths)
    const [several = '', ...keys] = change.text('keys').split('\n')
    for (let i = 0; i < keys.length; i++) {
      const slot = slots[i]
      if (slot !== undefined && keys[i] !== '') row[slot] = keys[i] as string
    }
    this.#statements.insertKeys.run(id, ...row, several === '' ? null : several)
  }

  /** The slot of each path; the same list is asked for again and again. */
  #slotsOf(resource: number, paths: readonly string[]): readonly (number | undefined)[] {
    let slots = this.#slots.get(paths)
    if (slots === undefined) {
      slots = paths.map((path) => this.#resources.slotOf(resource, path))
      this.#slots.set(paths, slots)
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
      this.#slots = new WeakMap()
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
    insertPath: writing(db, 'INSERT OR IGNORE INTO path VALUES (?, ?)'),
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

function isUnchanged(row: StoredRow | undefined, change: PreparedChange): boolean {
  return row?.uid === change.uid && row.version === change.resourceVersion && row.body_hash === change.bodyHash
}

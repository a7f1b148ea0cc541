/**
 * Writes documents; runs in its own thread. FTS5 makes a segment whenever row ids do not ascend and whenever a DELETE
 * comes between two inserts, so a batch looks up first, deletes in one statement, then inserts under new ids: ten times the
 * updates a second of deleting and inserting in turn. Each table is filled at a stretch, so that one buffer at a time is in
 * the processor's cache: a twelfth of the time.
 */
import type { DatabaseSync } from 'node:sqlite'
import { foldCase } from '../../query/tokens.ts'
import type { ObjectName, RefusedChange, StoredShard, WriteSummary } from '../backend-store.ts'
import type { NewPaths } from './path-codes.ts'
import { DELETE, preparedChanges, REFUSED, type PreparedBatch, type PreparedChange } from './prepared-batch.ts'
import { nameKey } from './name-key.ts'
import { ResourceTable, type ShardName } from './resource-table.ts'
import { REMOVED_KEPT, SORT_SLOTS } from './schema.ts'
import { writeStatements, type WriteStatements } from './write-statements.ts'

/** Rows that one transaction deletes of a shard: it holds the lock for about a tenth of a second. */
const DROP_ROWS = 5_000

interface StoredRow {
  readonly id: number
  readonly uid: string
  readonly version: string
  readonly body_hash: number
  readonly index_hash: number
  readonly index_hash_more: number
}

export class IndexWriter {
  readonly #db: DatabaseSync
  readonly #resources: ResourceTable
  readonly #statements: WriteStatements
  #slots = new WeakMap<readonly string[], readonly (number | undefined)[]>()
  /** Of paths that have codes: what no transaction that was committed has kept yet. */
  #newPaths: NewPaths[] = []
  #nextId: number

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#resources = new ResourceTable(db)
    this.#statements = writeStatements(db)
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

  dropShard(shard: ShardName): void {
    const id = this.#resources.findShard(shard)
    if (id === undefined) return
    let ids: number[]
    do {
      ids = this.#statements.idsOfShard.all(id, DROP_ROWS).map((row) => (row as { id: number }).id)
      this.#transaction(() => {
        this.#delete(ids)
        if (ids.length < DROP_ROWS) this.#resources.dropShard(id)
      })
    } while (ids.length === DROP_ROWS)
  }

  shards(): StoredShard[] {
    return this.#statements.shards.all() as unknown as StoredShard[]
  }

  /** The row under a name; undefined where there is none. */
  row(shard: ShardName, { namespace, name }: ObjectName): StoredRow | undefined {
    const id = this.#resources.findShard(shard)
    if (id === undefined) return undefined
    return this.#statements.find.get(id, nameKey(namespace, name), namespace, name) as StoredRow | undefined
  }

  /** Every row of a shard; do not write meanwhile. */
  *rows(shard: ShardName): Generator<ObjectName & { readonly id: number }> {
    const id = this.#resources.findShard(shard)
    if (id === undefined) return
    for (const row of this.#statements.namesOfShard.iterate(id)) yield row as unknown as ObjectName & { id: number }
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
        if (row !== undefined && isIndexed(row, change)) {
          this.#updateRow(row.id, change)
          continue
        }
        if (row !== undefined) stale.push(row.id)
        fresh.push(change)
      }
    }
    this.#delete(stale)
    this.#insert(fresh)
    return { written, deleted, unchanged, rejected }
  }

  #insert(changes: readonly PreparedChange[]): void {
    const first = this.#nextId
    this.#nextId += changes.length
    for (const [i, change] of changes.entries()) this.#insertRow(first + i, change)
    for (const [i, change] of changes.entries()) this.#statements.insertTerms.run(first + i, change.bytes('terms'))
    for (const [i, change] of changes.entries()) {
      const parts = [change.bytes('name'), change.bytes('strong'), change.bytes('other')]
      this.#statements.insertWords.run(first + i, ...parts)
    }
  }

  #insertRow(id: number, change: PreparedChange): void {
    const { shard, namespace, name, uid, resourceVersion, bodyHash, indexHash, indexHashMore } = change
    const resource = this.#resources.idOf(shard)
    const folded = foldCase(name)
    this.#statements.insertDoc.run(
      ...[id, shard.cluster, resource, namespace, name, uid, `${shard.group}/${shard.resource}`],
      folded === name ? null : folded,
      ...[resourceVersion, bodyHash, indexHash, indexHashMore],
      ...[this.#resources.shardOf(shard.cluster, resource), nameKey(namespace, name)],
    )
    this.#insertKeys(id, resource, change)
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
    this.#statements.deleteTerms.run(list)
    this.#statements.deleteWords.run(list)
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

  /** Above every row of all tables, so that what is inserted ascends. */
  #firstFreeId(): number {
    return (this.#statements.maxId.get() as { id: number }).id + 1
  }
}

function isUnchanged(row: StoredRow | undefined, change: PreparedChange): boolean {
  return row?.uid === change.uid && row.version === change.resourceVersion && row.body_hash === change.bodyHash
}

/** Whether the index holds what there is to hold of it. */
function isIndexed(row: StoredRow, { indexHash, indexHashMore }: PreparedChange): boolean {
  return row.index_hash === indexHash && row.index_hash_more === indexHashMore
}

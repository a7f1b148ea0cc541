/**
 * What is asked of many documents at once, held in memory: their cluster, resource and namespace, the beginning of their
 * name and the keys of the paths people sort and count by. Read from the tables by id, in the transaction of each answer, so
 * that it is of the same state as what else the answer reads. `docs/designs/search-store.md`, "Columns".
 */
import type { DatabaseSync } from 'node:sqlite'
import { sortableText } from '../../../query/sortable.ts'
import { slotExpression } from '../order.ts'
import { REMOVED_KEPT, SEVERAL, SORT_SLOTS } from '../schema.ts'
import { CodedTexts } from './coded-texts.ts'
import { KeyColumn } from './key-column.ts'
import { Names } from './names.ts'
import { Rows } from './rows.ts'

/** Paths that are held; the others are read from the tables. None may be a quantity, a version or an address (`isInSlots`). */
export const HELD = [
  'created',
  'status',
  'phase',
  'ready',
  'restarts',
  'node',
  'owner',
  'image',
  'qos',
  'priorityclass',
  'serviceaccount',
  'type',
  'reason',
  'zone',
  'storageclass',
] as const

/** As many values as documents. */
const WIDE: ReadonlySet<string> = new Set(['created'])

/** Beyond it everything is read from the tables: about 4 million pods. */
export const MAX_COLUMN_BYTES = 384 * 1024 * 1024

/** Documents that a query reads itself rather than having the tables asked (about 5 µs each). */
const MAX_BEHIND = 4_000

/** Documents that are read at a time while no query waits. */
const SLICE = 2_000

export interface Resource {
  readonly id: number
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
}

export class MemoryColumns {
  readonly #db: DatabaseSync
  readonly rows = new Rows()
  readonly names = new Names()
  readonly clusters = new CodedTexts()
  readonly namespaces = new CodedTexts()
  readonly #resources = new CodedTexts()
  readonly #keys = new Map<string, KeyColumn>(HELD.map((path) => [path, new KeyColumn(0, WIDE.has(path))]))
  #kinds: readonly (Resource | undefined)[] = []
  #removedTo = 0
  #slots = -1
  #complete = true
  #read = ''

  /** In a transaction. */
  constructor(db: DatabaseSync) {
    this.#db = db
    this.#removedTo = lastRemoved(db)
  }

  get bytes(): number {
    let sum = this.rows.bytes + this.names.bytes
    for (const texts of [this.clusters, this.namespaces, this.#resources]) sum += texts.bytes
    for (const column of this.#keys.values()) sum += column.bytes
    return sum
  }

  /** By row: the place in `kinds`. */
  get resources(): Uint16Array | Uint32Array {
    return this.#resources.codes
  }

  /** By the code in `resources`. */
  get kinds(): readonly (Resource | undefined)[] {
    return this.#kinds
  }

  keys(path: string): KeyColumn | undefined {
    return this.#keys.get(path)
  }

  /** The same where each document's values are all there, not only those it sorts by. */
  wholeKeys(path: string): KeyColumn | undefined {
    return this.#complete ? this.#keys.get(path) : undefined
  }

  /**
   * Brings them to the state of the transaction. False where that takes too long for now (`slice`), or for good where they
   * must be made anew (`isLost`).
   */
  refresh(): boolean {
    if (!this.#readRemoved()) return false
    if (!this.#readAdded(MAX_BEHIND)) return false
    this.#readKinds()
    return true
  }

  /** Reads some more; false where nothing is left. */
  slice(): boolean {
    return this.#readRemoved() && !this.#readAdded(SLICE)
  }

  isTooLarge(): boolean {
    return this.bytes > MAX_COLUMN_BYTES
  }

  isLost = false

  /** Of documents that are gone; each had a row if it was read. */
  #readRemoved(): boolean {
    const last = lastRemoved(this.#db)
    if (last - this.#removedTo > REMOVED_KEPT) this.isLost = true
    if (this.isLost) return false
    if (last === this.#removedTo) return true
    const statement = this.#db.prepare('SELECT doc FROM removed WHERE seq > ?')
    statement.setReturnArrays(true)
    for (const [id] of statement.all(this.#removedTo) as unknown as [number][]) this.rows.remove(id)
    this.#removedTo = last
    const kept = this.rows.compactable()
    if (kept !== undefined) this.#compact(kept)
    return true
  }

  #compact(kept: Uint32Array): void {
    this.rows.compact(kept)
    this.names.compact(kept)
    for (const texts of [this.clusters, this.namespaces, this.#resources]) texts.compact(kept)
    for (const column of this.#keys.values()) column.compact(kept)
  }

  /** True where none are left. */
  #readAdded(limit: number): boolean {
    this.#readSlots()
    const statement = this.#db.prepare(this.#read)
    statement.setReturnArrays(true)
    const added = statement.all(this.rows.lastId, limit) as unknown as AddedRow[]
    for (const row of added) this.#add(row)
    return added.length < limit
  }

  #add([id, cluster, resource, namespace, name, folded, several, ...keys]: AddedRow): void {
    this.rows.add(id)
    this.clusters.add(cluster)
    this.#resources.add(String(resource))
    this.namespaces.add(namespace)
    this.names.add(name, folded)
    const lists = several === null ? undefined : (JSON.parse(several) as Readonly<Record<string, readonly string[]>>)
    for (const [i, path] of HELD.entries()) this.#keys.get(path)?.add(keys[i] ?? null, lists?.[path]?.map(sortableText))
  }

  #readSlots(): void {
    const { slots, last } = this.#db
      .prepare('SELECT count(*) AS slots, max(slot) AS last FROM slot')
      .get() as unknown as { slots: number; last: number | null }
    if (slots === this.#slots) return
    this.#slots = slots
    this.#complete = (last ?? 0) < SORT_SLOTS - 1
    const keys = HELD.map((path) => slotExpression(this.#db, path))
    this.#read = `
      SELECT doc.id, doc.cluster, doc.resource, doc.namespace, doc.name, doc.name_fold, sort_key.${SEVERAL}, ${keys.join(', ')}
      FROM doc CROSS JOIN sort_key ON sort_key.id = doc.id WHERE doc.id > ? ORDER BY doc.id LIMIT ?`
  }

  #readKinds(): void {
    const rows = this.#db.prepare('SELECT id, grp AS "group", version, resource, kind FROM resource').all()
    const byId = new Map((rows as unknown as Resource[]).map((row) => [String(row.id), row]))
    this.#kinds = this.#resources.texts.map((id) => byId.get(id))
  }
}

type AddedRow = readonly [
  id: number,
  cluster: string,
  resource: number,
  namespace: string,
  name: string,
  folded: string | null,
  several: string | null,
  ...keys: (string | null)[],
]

function lastRemoved(db: DatabaseSync): number {
  return Number((db.prepare('SELECT max(seq) AS seq FROM removed').get() as { seq: number | null }).seq ?? 0)
}

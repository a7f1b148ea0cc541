/** The statements of the SQLite registry store, with the types of what goes in and out. */
import type { DatabaseSync } from 'node:sqlite'
import type { ResourceRegistry } from '../../api/resource-registry.ts'
import { StatusError } from '../../kube/status-error.ts'
import { decodeStored } from '../decode.ts'
import type { RegistryChange } from '../registry-store.ts'

export interface Row {
  readonly value: string
  readonly revision: number
}

export interface NamedRow extends Row {
  readonly name: string
}

export interface EventContent {
  readonly type: RegistryChange['type']
  readonly value: string
  readonly previous: string | null
  readonly previous_revision: number | null
}

export interface EventRow extends EventContent, Row {}

export interface Statements {
  get(name: string): Row | undefined
  list(): readonly NamedRow[]
  put(name: string, value: string, revision: number): void
  remove(name: string): void
  /** Returns the event's revision. */
  append(event: EventContent): number
  /** Forgets events up to and including this revision. */
  trim(revision: number): void
  behind(revision: number): readonly EventRow[]
  /** The revision of the oldest event that is kept; undefined where none is. */
  firstKept(): number | undefined
  /** The revision of the last write. */
  current(): number
  notes(): readonly { readonly name: string; readonly text: string }[]
  note(name: string, text: string): void
  forget(name: string): void
}

export function prepareStatements(database: DatabaseSync): Statements {
  const get = database.prepare('SELECT value, revision FROM registries WHERE name = ?')
  const list = database.prepare('SELECT name, value, revision FROM registries ORDER BY name')
  const put = database.prepare('INSERT OR REPLACE INTO registries (name, value, revision) VALUES (?, ?, ?)')
  const remove = database.prepare('DELETE FROM registries WHERE name = ?')
  const append = database.prepare('INSERT INTO events (type, value, previous, previous_revision) VALUES (?, ?, ?, ?)')
  const trim = database.prepare('DELETE FROM events WHERE revision <= ?')
  const behind = database.prepare('SELECT * FROM events WHERE revision > ? ORDER BY revision')
  const firstKept = database.prepare('SELECT min(revision) AS revision FROM events')
  const current = database.prepare("SELECT seq AS revision FROM sqlite_sequence WHERE name = 'events'")
  const notes = database.prepare('SELECT name, text FROM notes')
  const note = database.prepare('INSERT OR REPLACE INTO notes (name, text) VALUES (?, ?)')
  const forget = database.prepare('DELETE FROM notes WHERE name = ?')
  const revisionOf = (row: unknown): number | undefined => (row as { revision: number | null }).revision ?? undefined
  return {
    get: (name) => get.get(name) as Row | undefined,
    list: () => list.all() as unknown as NamedRow[],
    put: (name, value, revision) => void put.run(name, value, revision),
    remove: (name) => void remove.run(name),
    append: ({ type, value, previous, previous_revision }) =>
      Number(append.run(type, value, previous, previous_revision).lastInsertRowid),
    trim: (revision) => void trim.run(revision),
    behind: (revision) => behind.all(revision) as unknown as EventRow[],
    firstKept: () => revisionOf(firstKept.get()),
    current: () => revisionOf(current.get()) ?? 0,
    notes: () => notes.all() as unknown as { readonly name: string; readonly text: string }[],
    note: (name, text) => void note.run(name, text),
    forget: (name) => void forget.run(name),
  }
}

/** The stored JSON: the object without its version, as the original keeps it in etcd. */
export function toValue(registry: ResourceRegistry): string {
  const { resourceVersion: _, ...metadata } = registry.metadata
  return JSON.stringify({ ...registry, metadata })
}

/** Throws `internal` for a value that is no ResourceRegistry of this version. */
export function fromRow({ value, revision }: Row): ResourceRegistry {
  try {
    const registry = decodeStored(value)
    return { ...registry, metadata: { ...registry.metadata, resourceVersion: String(revision) } }
  } catch (error) {
    throw new StatusError('internal', `a stored ResourceRegistry cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

export function fromEventRow(row: EventRow): RegistryChange {
  const { type, previous, previous_revision } = row
  const before =
    previous === null || previous_revision === null
      ? undefined
      : fromRow({ value: previous, revision: previous_revision })
  return { type, object: fromRow(row), previous: before }
}

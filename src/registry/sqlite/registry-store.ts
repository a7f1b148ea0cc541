/**
 * ResourceRegistries in one SQLite file, for one process. They are few and small: calls are synchronous and take well
 * under a millisecond, a write as long as the disk takes to make it durable.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { ResourceRegistry } from '../../api/resource-registry.ts'
import type { ResourceVersion } from '../../kube/names.ts'
import { registryConflict, registryExists, registryNotFound, versionTooOld } from '../errors.ts'
import { EventQueue } from '../event-queue.ts'
import type { RegistryChange, RegistryEvent, RegistryList, RegistryStore } from '../registry-store.ts'
import { asStatusError, limitSize, openDatabase } from './database.ts'
import {
  fromEventRow,
  fromRow,
  prepareStatements,
  toValue,
  type EventRow,
  type NamedRow,
  type Statements,
} from './statements.ts'

export interface SqliteRegistryStoreOptions {
  /** The file, or `:memory:`. Its folder must exist. */
  readonly path: string
  /** Wall clock, ms since the epoch: the versions of a new file begin there. */
  readonly nowMs: () => number
  /** The file's largest size; more is answered like a full disk. Default: what the disk holds. */
  readonly maxBytes?: number
  /** A row that is no ResourceRegistry: it is left out of lists, and a create may take its name. Default: nobody is told. */
  readonly onUnreadable?: (name: string, error: unknown) => void
}

// Enough for a watch to resume after hours: registries change a few times a day, and 1,000 events take about 2 MB.
const KEPT_EVENTS = 1_000

export class SqliteRegistryStore implements RegistryStore {
  readonly #path: string
  readonly #database: DatabaseSync
  readonly #statements: Statements
  readonly #onUnreadable: (name: string, error: unknown) => void
  readonly #watchers = new Set<EventQueue<EventRow>>()

  /** Throws `StatusError` serviceUnavailable with the reason where the file cannot be used. */
  constructor({ path, nowMs, maxBytes, onUnreadable = () => undefined }: SqliteRegistryStoreOptions) {
    this.#onUnreadable = onUnreadable
    this.#path = path
    // Above every version that a lost file can have handed out, so that a watch resumed on one gets 410, not silence.
    this.#database = openDatabase(path, nowMs())
    if (maxBytes !== undefined) limitSize(this.#database, maxBytes)
    this.#statements = prepareStatements(this.#database)
  }

  async get(name: string): Promise<ResourceRegistry | undefined> {
    return this.#guarded(() => this.#stored(name))
  }

  async list(): Promise<RegistryList> {
    return this.#guarded(() => ({
      items: this.#statements.list().flatMap((row) => this.#readable(row)),
      version: String(this.#statements.current()) as ResourceVersion,
    }))
  }

  async create(registry: ResourceRegistry): Promise<ResourceRegistry> {
    return this.#write((): EventRow => {
      const { name } = registry.metadata
      const row = this.#statements.get(name)
      if (row !== undefined && this.#readable({ name, ...row }).length > 0) throw registryExists(name)
      return this.#put('ADDED', registry, undefined)
    })
  }

  async update(registry: ResourceRegistry, expected: ResourceVersion): Promise<ResourceRegistry> {
    return this.#write(() => this.#put('MODIFIED', registry, this.#expect(registry.metadata.name, expected)))
  }

  async delete(name: string, expected: ResourceVersion): Promise<ResourceRegistry> {
    return this.#write(() => {
      const stored = this.#expect(name, expected)
      this.#statements.remove(name)
      return this.#append('DELETED', stored, stored)
    })
  }

  async *watch(from: ResourceVersion, signal: AbortSignal): AsyncGenerator<RegistryEvent> {
    if (signal.aborted) return
    const queue = new EventQueue<EventRow>(KEPT_EVENTS)
    for (const row of this.#guarded(() => this.#eventsBehind(from))) queue.push(row)
    this.#watchers.add(queue)
    try {
      for await (const row of queue.drain(signal, () => versionTooOld(from, 'the reader is too slow'))) {
        yield fromEventRow(row)
      }
    } finally {
      this.#watchers.delete(queue)
    }
  }

  async notes(): Promise<ReadonlyMap<string, string>> {
    return this.#guarded(() => new Map(this.#statements.notes().map(({ name, text }) => [name, text])))
  }

  async note(name: string, text: string): Promise<void> {
    this.#guarded(() => this.#statements.note(name, text))
  }

  async forget(name: string): Promise<void> {
    this.#guarded(() => this.#statements.forget(name))
  }

  async close(): Promise<void> {
    if (this.#database.isOpen) this.#database.close()
  }

  #readable(row: NamedRow): ResourceRegistry[] {
    try {
      return [fromRow(row)]
    } catch (error) {
      this.#onUnreadable(row.name, error)
      return []
    }
  }

  #stored(name: string): ResourceRegistry | undefined {
    const row = this.#statements.get(name)
    return row === undefined ? undefined : fromRow(row)
  }

  #expect(name: string, expected: ResourceVersion): ResourceRegistry {
    const stored = this.#stored(name)
    if (stored === undefined) throw registryNotFound(name)
    if (stored.metadata.resourceVersion !== expected) throw registryConflict(name)
    return stored
  }

  #put(type: 'ADDED' | 'MODIFIED', registry: ResourceRegistry, previous: ResourceRegistry | undefined): EventRow {
    const row = this.#append(type, registry, previous)
    this.#statements.put(registry.metadata.name, row.value, row.revision)
    return row
  }

  #append(type: RegistryChange['type'], registry: ResourceRegistry, previous: ResourceRegistry | undefined): EventRow {
    const content = {
      type,
      value: toValue(registry),
      previous: previous === undefined ? null : toValue(previous),
      previous_revision: previous === undefined ? null : Number(previous.metadata.resourceVersion),
    }
    const revision = this.#statements.append(content)
    this.#statements.trim(revision - KEPT_EVENTS)
    return { ...content, revision }
  }

  /** A version of the future is another store's (this file was restored or replaced): as good as too old. */
  #eventsBehind(from: ResourceVersion): readonly EventRow[] {
    const current = this.#statements.current()
    const oldest = (this.#statements.firstKept() ?? current + 1) - 1
    const revision = /^[0-9]{1,15}$/.test(from) ? Number(from) : Number.NaN
    if (!(revision >= oldest && revision <= current)) throw versionTooOld(from, String(current))
    return this.#statements.behind(revision)
  }

  /** One transaction; watchers hear of it when it is durable. */
  #write(body: () => EventRow): ResourceRegistry {
    const row = this.#guarded(() => {
      this.#database.exec('BEGIN IMMEDIATE')
      try {
        const written = body()
        this.#database.exec('COMMIT')
        return written
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
        throw error
      }
    })
    for (const watcher of this.#watchers) watcher.push(row)
    return fromEventRow(row).object
  }

  #guarded<T>(body: () => T): T {
    try {
      return body()
    } catch (error) {
      throw asStatusError(error, this.#path)
    }
  }
}

/** Opens the file of the SQLite registry store, and says what SQLite's errors mean. */
import { DatabaseSync } from 'node:sqlite'
import { StatusError } from '../../kube/status-error.ts'

const SCHEMA_VERSION = 2

const SCHEMA = `
  CREATE TABLE registries (name TEXT PRIMARY KEY, value TEXT NOT NULL, revision INTEGER NOT NULL) STRICT;
  CREATE TABLE events (
    revision INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, value TEXT NOT NULL,
    previous TEXT, previous_revision INTEGER
  ) STRICT;
`

/** Of version 2. */
const NOTES = 'CREATE TABLE notes (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT'

/**
 * `firstRevision` is where the versions of a new file begin. Throws `StatusError` serviceUnavailable where the file
 * cannot be used: taken by another process, of a newer version, damaged, not writable.
 */
export function openDatabase(path: string, firstRevision: number): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path)
    // One process at a time: another's writes would reach no watcher of ours.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    migrate(database, path, firstRevision)
    return database
  } catch (error) {
    database?.close()
    throw asStatusError(error, path)
  }
}

function migrate(database: DatabaseSync, path: string, firstRevision: number): void {
  database.exec('BEGIN IMMEDIATE')
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (version > SCHEMA_VERSION) {
    throw new StatusError('serviceUnavailable', `registries in ${path} were written by a newer version of this program`)
  }
  if (version === 0) {
    database.exec(SCHEMA)
    database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)").run(firstRevision)
  }
  if (version < SCHEMA_VERSION) {
    database.exec(NOTES)
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  }
  database.exec('COMMIT')
}

export function limitSize(database: DatabaseSync, maxBytes: number): void {
  const { page_size: pageSize } = database.prepare('PRAGMA page_size').get() as { page_size: number }
  database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`)
}

/** SQLite's primary result codes that an administrator can do something about. */
const CAUSES: ReadonlyMap<number, string> = new Map([
  [5, 'another process uses the file'],
  [6, 'another process uses the file'],
  [8, 'the file is not writable'],
  [10, 'the disk fails to read or write'],
  [11, 'the file is damaged'],
  [13, 'the disk is full'],
  [14, 'the file cannot be opened'],
  [26, 'the file is no SQLite database'],
])

/** SQLite's own error as serviceUnavailable; everything else as it is. */
export function asStatusError(error: unknown, path: string): unknown {
  const code = (error as { errcode?: unknown } | null)?.errcode
  if (typeof code !== 'number') return error
  const cause = CAUSES.get(code & 0xff) ?? (error as Error).message
  return new StatusError('serviceUnavailable', `registries in ${path} are not available: ${cause}`, { cause: error })
}

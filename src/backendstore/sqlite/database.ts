/** Opens the store's file. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { isBackendStoreError } from '../errors.ts'
import { configure, createSchema, createVocabulary, SCHEMA_VERSION, schemaVersion } from './schema.ts'
import { toStoreError } from './sqlite-errors.ts'

/**
 * For the one writer. A file of another version, or a damaged one, is made anew: the cache fills it again. `use` is what
 * the writer reads first, so that damage which shows only there counts too.
 */
export function openForWriting<Result>(file: string, use: (db: DatabaseSync) => Result): Result {
  if (existsSync(file + DAMAGED)) removeFiles(file)
  try {
    return open(file, use)
  } catch (error) {
    if (!isBackendStoreError(toStoreError(error), 'corrupt')) throw error
    removeFiles(file)
    return open(file, use)
  }
}

/**
 * What only one process may have of a file, until it closes it or ends, however it ends: two that write get in each other's
 * row ids, and each would answer of its own columns. Throws SQLite's BUSY where another has it.
 */
export function holdForWriting(file: string): DatabaseSync {
  const held = new DatabaseSync(file + HELD)
  try {
    held.exec('BEGIN EXCLUSIVE')
    return held
  } catch (error) {
    held.close()
    throw error
  }
}

/** Beside a file: empty, and never removed, for another may hold it. */
const HELD = '-lock'

/** Beside a file in which damage was met that opening it may not meet: the next start makes it anew. */
const DAMAGED = '-damaged'

export function markDamaged(file: string): void {
  try {
    writeFileSync(file + DAMAGED, '')
  } catch {
    // Then the next start opens the file as it is, and meets the damage again.
  }
}

/** The file must exist. What the connection writes is temporary. */
export function openForReading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true })
  configure(db)
  createVocabulary(db)
  return db
}

/** The file and what is kept beside it; the mark last, so that a half-removed file keeps it. */
export function removeFiles(file: string): void {
  for (const suffix of ['', '-wal', '-shm', DAMAGED]) rmSync(file + suffix, { force: true })
}

function open<Result>(file: string, use: (db: DatabaseSync) => Result): Result {
  const existing = new DatabaseSync(file)
  try {
    configure(existing)
    const version = schemaVersion(existing)
    if (version === 0 || version === SCHEMA_VERSION) {
      createSchema(existing)
      return use(existing)
    }
  } catch (error) {
    existing.close()
    throw error
  }
  existing.close()
  removeFiles(file)
  return open(file, use)
}

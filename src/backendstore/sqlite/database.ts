/** Opens the store's file. */
import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { isBackendStoreError } from '../errors.ts'
import { configure, createSchema, createVocabulary, SCHEMA_VERSION, schemaVersion } from './schema.ts'
import { toStoreError } from './sqlite-errors.ts'

/** For the one writer. A file of another version, or a damaged one, is made anew: the cache fills it again. */
export function openForWriting(file: string): DatabaseSync {
  try {
    return open(file)
  } catch (error) {
    if (!isBackendStoreError(toStoreError(error), 'corrupt')) throw error
    removeFiles(file)
    return open(file)
  }
}

/** The file must exist. What the connection writes is temporary. */
export function openForReading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true })
  configure(db)
  createVocabulary(db)
  return db
}

/** The file and what SQLite keeps beside it. */
export function removeFiles(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
}

function open(file: string): DatabaseSync {
  const existing = new DatabaseSync(file)
  try {
    configure(existing)
    const version = schemaVersion(existing)
    if (version === 0 || version === SCHEMA_VERSION) {
      createSchema(existing)
      return existing
    }
  } catch (error) {
    existing.close()
    throw error
  }
  existing.close()
  removeFiles(file)
  return open(file)
}

/** SQLite's result codes in our words. */
import { BackendStoreError, type BackendStoreErrorCode } from '../errors.ts'

/** Primary result codes; https://sqlite.org/rescode.html. */
const CODES: Readonly<Record<number, BackendStoreErrorCode>> = {
  5: 'busy', // SQLITE_BUSY
  6: 'busy', // SQLITE_LOCKED
  8: 'io', // SQLITE_READONLY
  10: 'io', // SQLITE_IOERR
  11: 'corrupt', // SQLITE_CORRUPT
  13: 'full', // SQLITE_FULL
  14: 'io', // SQLITE_CANTOPEN
  26: 'corrupt', // SQLITE_NOTADB
}

const MESSAGES: Readonly<Partial<Record<BackendStoreErrorCode, string>>> = {
  full: 'no space is left for the search store',
  busy: 'another process holds the search store',
  io: 'the search store cannot be read or written',
  corrupt: 'the search store is damaged',
  closed: 'the search store is closed',
  failed: 'the search store failed',
}

/** Any error as a `BackendStoreError`; extended result codes keep the primary one in their low byte. */
export function toStoreError(error: unknown): BackendStoreError {
  if (error instanceof BackendStoreError) return error
  const errcode = (error as { errcode?: unknown } | null)?.errcode
  const code = (typeof errcode === 'number' ? CODES[errcode & 0xff] : undefined) ?? 'failed'
  const detail = error instanceof Error ? error.message : String(error)
  return new BackendStoreError(code, `${MESSAGES[code] ?? 'the search store failed'}: ${detail}`, error)
}

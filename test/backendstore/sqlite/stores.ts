/** SQLite stores in temporary folders. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Upsert } from '../../../src/backendstore/backend-store.ts'
import { SqliteStore } from '../../../src/backendstore/sqlite/store.ts'
import type { OracleObject } from '../../support/query-oracle.ts'

/** The caller closes the store and removes the folder. */
export async function newStore(): Promise<{ store: SqliteStore; folder: string; file: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-store-'))
  const file = path.join(folder, 'search.db')
  return { store: await SqliteStore.open({ file }), folder, file }
}

export function upsertOf({ identity, object }: OracleObject): Upsert {
  return { type: 'upsert', ...identity, bytes: Buffer.from(JSON.stringify(object)) }
}

/** What every suite of stores begins with: these objects and no others. */
import type { BackendStore } from '../../src/backendstore/backend-store.ts'
import type { OracleObject } from '../support/query-oracle.ts'

export async function fill(store: BackendStore, objects: readonly OracleObject[]): Promise<void> {
  for (const shard of await store.shards()) await store.dropShard(shard)
  if (objects.length > 0) await store.write(objects.map(upsertOf))
}

function upsertOf({ identity, object }: OracleObject) {
  return { type: 'upsert' as const, ...identity, bytes: Buffer.from(JSON.stringify(object)) }
}

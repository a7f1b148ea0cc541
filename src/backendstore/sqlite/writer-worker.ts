/** The thread that writes. */
import type { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { ManifestEntry, ShardIdentity } from '../backend-store.ts'
import { Comparisons } from './comparisons.ts'
import { holdForWriting, openForWriting } from './database.ts'
import { IndexWriter } from './index-writer.ts'
import { knownPaths } from './path-codes.ts'
import type { PreparedBatch } from './prepared-batch.ts'
import { toStoreError } from './sqlite-errors.ts'
import { serveOpened, type Methods } from '../worker-rpc.ts'

export interface WriterData {
  readonly file: string
}

if (parentPort !== null) {
  serveOpened(parentPort, toStoreError, () => open((workerData as WriterData).file))
}

function open(file: string): Methods {
  const held = holdForWriting(file)
  return openForWriting(file, (db) => methodsOf(db, held))
}

function methodsOf(db: DatabaseSync, held: DatabaseSync): Methods {
  const writer = new IndexWriter(db)
  const comparisons = new Comparisons(writer)
  return {
    paths: () => knownPaths(db),
    write: (batch: PreparedBatch) => writer.write(batch),
    dropShard: (shard: ShardIdentity) => writer.dropShard(shard),
    shards: () => writer.shards(),
    compareBegin: (shard: ShardIdentity) => comparisons.begin(shard),
    compareNext: (step: { id: number; entries: readonly ManifestEntry[] }) => comparisons.next(step.id, step.entries),
    compareEnd: (id: number) => comparisons.end(id),
    limitPages: (pages: number) => db.exec(`PRAGMA max_page_count = ${pages}`),
    size: () => writer.size(),
    close: () => {
      db.close()
      held.close()
    },
  }
}

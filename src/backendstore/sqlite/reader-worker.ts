/** The thread that answers queries. */
import { parentPort, workerData } from 'node:worker_threads'
import type { SearchRequest } from '../../query/search-request.ts'
import { openForReading } from './database.ts'
import { IndexReader } from './index-reader.ts'
import { serveOpened } from './worker-rpc.ts'

export interface ReaderData {
  readonly file: string
}

if (parentPort !== null) {
  serveOpened(parentPort, () => {
    const db = openForReading((workerData as ReaderData).file)
    const reader = new IndexReader(db)
    return {
      search: (request: SearchRequest) => reader.search(request),
      close: () => db.close(),
    }
  })
}

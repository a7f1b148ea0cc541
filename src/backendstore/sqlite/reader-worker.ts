/** The thread that answers queries. */
import { parentPort, workerData } from 'node:worker_threads'
import type { CountRequest, SearchRequest, VocabularyRequest } from '../../query/search-request.ts'
import { openForReading } from './database.ts'
import { IndexReader } from './index-reader.ts'
import { toStoreError } from './sqlite-errors.ts'
import { serveOpened } from '../worker-rpc.ts'

export interface ReaderData {
  readonly file: string
}

if (parentPort !== null) {
  serveOpened(parentPort, toStoreError, () => {
    const db = openForReading((workerData as ReaderData).file)
    const reader = new IndexReader(db)
    return {
      search: (request: SearchRequest) => reader.search(request),
      count: (request: CountRequest) => reader.count(request),
      vocabulary: (request: VocabularyRequest) => reader.vocabulary(request),
      close: () => db.close(),
    }
  })
}

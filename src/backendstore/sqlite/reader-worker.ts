/** The thread that answers queries. */
import { parentPort, workerData } from 'node:worker_threads'
import type { CountRequest, SearchRequest, VocabularyRequest } from '../../query/search-request.ts'
import { openForReading } from './database.ts'
import { IndexReader } from './index-reader.ts'
import type { ReadAheadSlice } from './read-ahead.ts'
import { toStoreError } from './sqlite-errors.ts'
import { serveOpened } from '../worker-rpc.ts'

export interface ReaderData {
  readonly file: string
  /** It keeps to the state that it finds at first. */
  readonly held?: boolean
}

if (parentPort !== null) {
  serveOpened(parentPort, toStoreError, () => {
    const { file, held = false } = workerData as ReaderData
    const db = openForReading(file)
    const reader = new IndexReader(db, held)
    return {
      search: (request: SearchRequest) => reader.search(request),
      count: (request: CountRequest) => reader.count(request),
      vocabulary: (request: VocabularyRequest) => reader.vocabulary(request),
      readAhead: (): ReadAheadSlice => ({ more: reader.readAhead(), bytes: reader.columnBytes() }),
      close: () => db.close(),
    }
  })
}

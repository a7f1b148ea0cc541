/** The thread that makes documents of objects. */
import { parentPort, workerData } from 'node:worker_threads'
import { unpackBatch, type PackedBatch } from '../packed-batch.ts'
import { serveOpened, transferring } from '../worker-rpc.ts'
import { buffersOf } from './prepared-batch.ts'
import { Preparer } from './preparer.ts'
import { toStoreError } from './sqlite-errors.ts'

export interface DocumentWorkerData {
  /** Those that have codes, by code. */
  readonly paths: readonly string[]
}

if (parentPort !== null) {
  serveOpened(parentPort, toStoreError, () => {
    const preparer = new Preparer((workerData as DocumentWorkerData).paths)
    return {
      prepare: (batch: PackedBatch) => {
        const prepared = preparer.prepare(unpackBatch(batch))
        return transferring(prepared, buffersOf(prepared))
      },
      close: () => undefined,
    }
  })
}

/** The thread that makes documents of objects. */
import { parentPort } from 'node:worker_threads'
import { GrowingText } from '../growing-text.ts'
import { unpackBatch } from '../packed-batch.ts'
import { serveOpened, transferring } from '../worker-rpc.ts'
import type { BuildRequest, BuiltLines } from './built-lines.ts'
import { EngineDocuments } from './engine-document.ts'
import { toStoreError } from './engine-errors.ts'

function build(documents: EngineDocuments, { batch, heads, memory }: BuildRequest): BuiltLines {
  const text = new GrowingText(memory)
  const ends = new Int32Array(heads.length)
  const faults = new Map<number, string>()
  let place = 0
  for (const change of unpackBatch(batch)) {
    const start = text.length
    text.add(heads[place] as string)
    try {
      if (change.type === 'upsert') text.add(`${documents.build(change)}\n`)
    } catch (error) {
      faults.set(place, error instanceof Error ? error.message : String(error))
      text.cut(start)
    }
    ends[place++] = text.length
  }
  const lines = text.bytes()
  const bodies = batch.bodies.buffer
  return transferring({ lines, ends, faults, bodies }, [lines.buffer, ends.buffer, bodies])
}

if (parentPort !== null) {
  serveOpened(parentPort, toStoreError, () => {
    const documents = new EngineDocuments()
    return { build: (request: BuildRequest) => build(documents, request), close: () => undefined }
  })
}

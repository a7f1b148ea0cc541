/** The thread that makes documents of objects. */
import { parentPort } from 'node:worker_threads'
import { unpackBatch, type PackedBatch } from '../packed-batch.ts'
import { serveOpened, transferring } from '../worker-rpc.ts'
import { EngineDocuments } from './engine-document.ts'
import { toStoreError } from './engine-errors.ts'

/** A document for each upsert, in their order: lines of JSON, and where each ends. */
export interface BuiltDocuments {
  readonly lines: Uint8Array
  readonly ends: Int32Array
  /** Of objects that could not be read, by their place; their line is empty. */
  readonly faults: ReadonlyMap<number, string>
}

if (parentPort !== null) {
  serveOpened(parentPort, toStoreError, () => {
    const documents = new EngineDocuments()
    return { build: (batch: PackedBatch) => build(documents, batch), close: () => undefined }
  })
}

function build(documents: EngineDocuments, batch: PackedBatch): BuiltDocuments {
  const lines: string[] = []
  const faults = new Map<number, string>()
  for (const change of unpackBatch(batch)) {
    if (change.type === 'delete') continue
    try {
      lines.push(`${documents.build(change)}\n`)
    } catch (error) {
      faults.set(lines.length, error instanceof Error ? error.message : String(error))
      lines.push('')
    }
  }
  const text = Buffer.from(lines.join(''))
  const ends = new Int32Array(lines.length)
  let end = 0
  for (const [i, line] of lines.entries()) ends[i] = end += Buffer.byteLength(line)
  const own = new Uint8Array(text) // a Buffer may share its memory with others
  return transferring({ lines: own, ends, faults }, [own.buffer, ends.buffer])
}

/** The thread that makes documents of objects. */
import { parentPort } from 'node:worker_threads'
import { GrowingText } from '../growing-text.ts'
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
  const text = new GrowingText(batch.bodies.length * GROWTH)
  const ends: number[] = []
  const faults = new Map<number, string>()
  for (const change of unpackBatch(batch)) {
    if (change.type === 'delete') continue
    try {
      text.add(documents.build(change))
      text.add('\n')
    } catch (error) {
      faults.set(ends.length, error instanceof Error ? error.message : String(error))
    }
    ends.push(text.length)
  }
  const lines = text.bytes()
  const places = Int32Array.from(ends)
  return transferring({ lines, ends: places, faults }, [lines.buffer, places.buffer])
}

/** A pod's document is five times as long as the pod. */
const GROWTH = 6

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

/** Text as UTF-8 in memory of its own, encoded once. */
class GrowingText {
  #bytes: Buffer<ArrayBuffer>
  length = 0

  constructor(capacity: number) {
    this.#bytes = Buffer.from(new ArrayBuffer(capacity))
  }

  add(text: string): void {
    const needed = this.length + text.length * 3 // at most, of UTF-16 units
    if (needed > this.#bytes.length) this.#grow(needed)
    this.length += this.#bytes.write(text, this.length)
  }

  /** What is behind `length` is of no use. */
  bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#bytes.buffer)
  }

  #grow(needed: number): void {
    const larger = Buffer.from(new ArrayBuffer(Math.max(needed, this.#bytes.length * 2)))
    larger.set(this.#bytes.subarray(0, this.length))
    this.#bytes = larger
  }
}

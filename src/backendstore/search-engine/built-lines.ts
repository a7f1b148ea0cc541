/** What the thread that makes documents is asked, and what it answers. */
import type { PackedBatch } from '../packed-batch.ts'

export interface BuildRequest {
  readonly batch: PackedBatch
  /** Of each change: the line in front of its document. */
  readonly heads: readonly string[]
  /** For the lines, while there is room: of `roomFor`. */
  readonly memory: ArrayBuffer
}

/** The lines of each change, in their order, and where they end. */
export interface BuiltLines {
  readonly lines: Uint8Array<ArrayBuffer>
  readonly ends: Int32Array<ArrayBuffer>
  /** Of objects that could not be read, by their place: why. They have no lines. */
  readonly faults: ReadonlyMap<number, string>
  /** The batch's, to be used again. */
  readonly bodies: ArrayBuffer
}

/** A pod's document is nearly five times as long as the pod. */
const GROWTH = 5

/** Bytes that the lines of most batches need, of so many bytes of objects. */
export function roomFor(bodies: number): number {
  return bodies * GROWTH
}

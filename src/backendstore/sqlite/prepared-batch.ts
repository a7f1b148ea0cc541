/**
 * A batch of changes as the thread that writes is given it: what was made of each object, as bytes that are handed over
 * rather than copied and that SQLite takes as they are.
 */
import type { ObjectName, ShardIdentity } from '../backend-store.ts'
import type { NewPaths } from './path-codes.ts'

/** The texts of a change, in their order. A delete has the first alone, a refused object the second: why. */
export const TEXTS = {
  /** Namespace, UID and version (both empty for a delete) on a line each, and behind them the name, which may have lines. */
  identity: 0,
  /** The values of fields that have several (`SEVERAL`), then a sort key for each of `sortPaths`; empty lines are none. */
  keys: 1,
  terms: 2,
  name: 3,
  strong: 4,
  other: 5,
} as const

export const TEXT_COUNT = 6

/** What stands in `places` of a change: its shard, what it is, the end of each text. */
export const PLACES = 2 + TEXT_COUNT

/** Of a change: of the body; of what the index holds of it, two numbers of 48 bits. */
export const HASHES = 3

export const DELETE = 0
export const UPSERT = 1
export const REFUSED = 2

export interface PreparedBatch {
  readonly shards: readonly ShardIdentity[]
  /** By shard: of which paths its documents have sort keys. */
  readonly sortPaths: readonly (readonly string[])[]
  readonly newPaths: NewPaths
  readonly texts: Uint8Array<ArrayBuffer>
  readonly places: Int32Array<ArrayBuffer>
  readonly hashes: Float64Array<ArrayBuffer>
}

/** What is handed over with it. */
export function buffersOf({ texts, places, hashes }: PreparedBatch): readonly ArrayBuffer[] {
  return [texts.buffer, places.buffer, hashes.buffer]
}

/** One change of a batch, decoded as far as it is asked for. */
export class PreparedChange implements ObjectName {
  readonly type: number
  readonly shard: ShardIdentity
  readonly sortPaths: readonly string[]
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly bodyHash: number
  readonly indexHash: number
  readonly indexHashMore: number
  readonly #texts: Buffer
  readonly #ends: Int32Array
  readonly #start: number

  constructor({ shards, sortPaths, places, hashes }: PreparedBatch, texts: Buffer, place: number) {
    const at = place * PLACES
    const [shard = 0, type = DELETE] = [places[at], places[at + 1]]
    this.type = type
    this.shard = shards[shard] as ShardIdentity
    this.sortPaths = sortPaths[shard] as readonly string[]
    this.bodyHash = hashes[place * HASHES] as number
    this.indexHash = hashes[place * HASHES + 1] as number
    this.indexHashMore = hashes[place * HASHES + 2] as number
    this.#texts = texts
    this.#ends = places.subarray(at + 2, at + PLACES)
    this.#start = at === 0 ? 0 : (places[at - 1] as number)
    const [namespace = '', uid = '', resourceVersion = '', ...name] = this.text('identity').split('\n')
    this.namespace = namespace
    this.name = name.join('\n')
    this.uid = uid
    this.resourceVersion = resourceVersion
  }

  text(text: keyof typeof TEXTS): string {
    return this.#texts.toString('utf8', this.#from(TEXTS[text]), this.#ends[TEXTS[text]])
  }

  /** The same undecoded. */
  bytes(text: keyof typeof TEXTS): Uint8Array {
    return this.#texts.subarray(this.#from(TEXTS[text]), this.#ends[TEXTS[text]])
  }

  #from(text: number): number {
    return text === 0 ? this.#start : (this.#ends[text - 1] as number)
  }
}

export function* preparedChanges(batch: PreparedBatch): Generator<PreparedChange> {
  const texts = Buffer.from(batch.texts.buffer)
  for (let place = 0; place * PLACES < batch.places.length; place++) yield new PreparedChange(batch, texts, place)
}

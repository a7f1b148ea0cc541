/**
 * What a filter takes of the shards at one moment: an address for each object (4 bytes) and the chunks they stand in, which
 * are never overwritten, so a snapshot stays what it is while the shards go on.
 */
import type { VersionMap } from '../kube/multi-cluster-version.ts'
import type { ClusterName } from '../kube/names.ts'
import { compareUtf8 } from '../util/bytes.ts'
import type { Chunks } from './arena.ts'
import { KeyBuffer } from './key-buffer.ts'
import type { CachedObject, Snapshot, SnapshotFilter } from './reader.ts'
import { objectBytes, StoredObject } from './record.ts'
import type { Shard } from './shard.ts'
import type { ShardContent } from './shard-content.ts'

/** Objects of one shard, in key order. */
export interface Selected {
  readonly cluster: ClusterName
  readonly length: number
  at(index: number): CachedObject
  bytesAt(index: number): Uint8Array
}

/** Objects of one shard as they are now. */
export class ShardSelection implements Selected {
  readonly cluster: ClusterName
  readonly #chunks: Chunks
  readonly #addresses: Uint32Array

  constructor(cluster: ClusterName, chunks: Chunks, addresses: Uint32Array) {
    this.cluster = cluster
    this.#chunks = chunks
    this.#addresses = addresses
  }

  get length(): number {
    return this.#addresses.length
  }

  at(index: number): CachedObject {
    return new StoredObject(this.cluster, this.#chunks, this.#address(index))
  }

  bytesAt(index: number): Buffer {
    return objectBytes(this.#chunks, this.#address(index))
  }

  #address(index: number): number {
    const address = this.#addresses[index]
    if (address === undefined) throw new RangeError(`no object at ${index}`)
    return address
  }
}

/** The part of a filter that concerns one shard. */
export type ShardFilter = Pick<SnapshotFilter, 'namespace' | 'name' | 'labels' | 'after'>

export interface SelectedPart<Part extends Selected = Selected> {
  readonly selection: Part
  /** Objects beyond the limit. */
  readonly remaining: number
}

/** Takes at most `limit` objects. */
export function selectObjects(shard: Shard, filter: ShardFilter, limit: number): SelectedPart<ShardSelection> {
  const { content } = shard
  const [from, to] = shard.synced ? rangeOf(shard, filter) : [0, 0]
  const matches = matcherOf(content, filter)
  const taken = new Uint32Array(Math.min(limit, to - from))
  let matched = matches === undefined ? to - from : 0
  if (matches === undefined) {
    for (let i = 0; i < taken.length; i++) taken[i] = content.address(content.order.at(from + i))
  } else {
    for (let i = from; i < to; i++) {
      const slot = content.order.at(i)
      if (!matches(slot)) continue
      if (matched < taken.length) taken[matched] = content.address(slot)
      matched += 1
    }
  }
  const length = Math.min(matched, taken.length)
  // What was taken may be far less than what was looked at: the copy lets the longer array go.
  const addresses = length === taken.length ? taken : taken.slice(0, length)
  return { selection: new ShardSelection(shard.cluster, content.chunks, addresses), remaining: matched - length }
}

const key = new KeyBuffer()

/** The part of the order that namespace, name (where it is exact) and `after` leave over. */
export function rangeOf({ cluster, content }: Shard, filter: ShardFilter): readonly [from: number, to: number] {
  const { namespace, name, after } = filter
  let range: readonly [number, number] = [0, content.order.length]
  if (namespace !== undefined && name !== undefined) {
    const index = content.find(key.set(namespace, name))
    range = index === -1 ? [0, 0] : [index, index + 1]
  } else if (namespace !== undefined && namespace !== '') {
    range = content.namespaceRange(namespace)
  }
  if (after === undefined) return range
  const order = compareUtf8(cluster, after.cluster)
  if (order !== 0) return order < 0 ? [0, 0] : range
  const index = content.find(key.setText(after.key))
  const behind = index === -1 ? content.lowerBound(content.order, key) : index + 1
  return behind >= range[1] ? [0, 0] : [Math.max(range[0], behind), range[1]]
}

/** What is left to ask of each slot in the range; undefined: nothing. */
export function matcherOf(content: ShardContent, filter: ShardFilter): ((slot: number) => boolean) | undefined {
  const { namespace, name, labels } = filter
  const byLabels = labels === undefined || labels.empty ? undefined : content.labels.select(labels)
  const nameBytes = name === undefined || namespace !== undefined ? undefined : Buffer.from(name)
  if (byLabels === undefined && nameBytes === undefined) return undefined
  return (slot) => {
    if (byLabels !== undefined && !byLabels(content.labelSet(slot))) return false
    return nameBytes === undefined || content.hasName(slot, nameBytes)
  }
}

/** The selections of several shards, one behind the other. */
export class FleetSnapshot implements Snapshot {
  readonly length: number
  readonly remaining: number
  readonly versions: VersionMap
  readonly #parts: readonly Selected[]
  /** Where each part begins. */
  readonly #starts: readonly number[]
  /** The part that was read last: lists are read from front to back. */
  #current = 0

  constructor(parts: readonly Selected[], remaining: number, versions: VersionMap) {
    const starts: number[] = []
    let length = 0
    for (const part of parts) {
      starts.push(length)
      length += part.length
    }
    this.length = length
    this.remaining = remaining
    this.versions = versions
    this.#parts = parts
    this.#starts = starts
  }

  at(index: number): CachedObject {
    const part = this.#seek(index)
    return part.at(index - (this.#starts[this.#current] ?? 0))
  }

  bytesAt(index: number): Uint8Array {
    const part = this.#seek(index)
    return part.bytesAt(index - (this.#starts[this.#current] ?? 0))
  }

  #seek(index: number): Selected {
    if (index < 0 || index >= this.length) throw new RangeError(`no object at ${index}`)
    if (index < (this.#starts[this.#current] ?? 0)) this.#current = 0
    let part = this.#parts[this.#current]
    while (part !== undefined && index >= (this.#starts[this.#current] ?? 0) + part.length) {
      this.#current += 1
      part = this.#parts[this.#current]
    }
    if (part === undefined) throw new RangeError(`no object at ${index}`)
    return part
  }
}

/**
 * The label index of a shard: each distinct set of labels once, with a signature and the number of its objects. Objects of
 * one owner share their set, so a selector is held against far fewer sets than there are objects, and against most of
 * them by their signature alone.
 */
import type { CanonicalObject } from '../kube/canonical-object.ts'
import type { LabelSelector } from '../kube/label-selector.ts'
import { Arena, chunkAt, grown, lengthAt, offsetAt } from './arena.ts'
import { addLabel, SignatureFilter } from './label-signature.ts'
import { labelValue } from './label-text.ts'

const UNKNOWN = 0
const MATCHES = 1
const DIFFERS = 2

export class LabelSets {
  /** The JSON text of each set, as it stands in the objects; empty for no labels. A set's id is its slot. */
  readonly #arena = new Arena()
  #objects = new Uint32Array(8)
  #hashes = new Uint32Array(8)
  #low = new Uint32Array(8)
  #high = new Uint32Array(8)
  /** Open hash with linear probing: id + 1, or 0. At most half full. */
  #table = new Uint32Array(16)
  #count = 0

  /** Distinct sets. */
  get count(): number {
    return this.#count
  }

  get capacityBytes(): number {
    return this.#arena.capacityBytes + 4 * this.#objects.byteLength + this.#table.byteLength
  }

  /** The id of the object's labels, counted once more. */
  acquire(object: CanonicalObject): number {
    const { labelsStart, labelsEnd } = object.meta
    const start = Math.max(0, labelsStart)
    const end = Math.max(0, labelsEnd)
    const hash = hashOf(object.bytes, start, end)
    const place = this.#placeOf(hash, object.bytes, start, end)
    const found = (this.#table[place] ?? 0) - 1
    if (found >= 0) {
      this.#objects[found] = (this.#objects[found] ?? 0) + 1
      return found
    }
    return this.#add(place, hash, object, start, end)
  }

  release(id: number): void {
    const objects = (this.#objects[id] ?? 0) - 1
    this.#objects[id] = objects
    if (objects > 0) return
    this.#removeFromTable(id)
    this.#arena.remove(id)
    this.#count -= 1
  }

  /** Tells for an id whether its labels match; each set is looked at once at most. Only good until the next change. */
  select(selector: LabelSelector): (id: number) => boolean {
    const filter = new SignatureFilter(selector)
    const known = new Uint8Array(this.#arena.slotLimit)
    return (id) => {
      if (known[id] === UNKNOWN) known[id] = this.#matches(id, selector, filter) ? MATCHES : DIFFERS
      return known[id] === MATCHES
    }
  }

  #matches(id: number, selector: LabelSelector, filter: SignatureFilter): boolean {
    const verdict = filter.verdict(this.#low[id] ?? 0, this.#high[id] ?? 0)
    if (verdict !== 'maybe') return verdict === 'yes'
    const address = this.#arena.address(id)
    const chunk = chunkAt(this.#arena.chunks, address)
    const start = offsetAt(address)
    return selector.matches((key) => labelValue(chunk.bytes, start, start + lengthAt(chunk, start), key))
  }

  #add(place: number, hash: number, object: CanonicalObject, start: number, end: number): number {
    const id = this.#arena.insert(end - start)
    const address = this.#arena.address(id)
    object.bytes.copy(chunkAt(this.#arena.chunks, address).bytes, offsetAt(address), start, end)
    if (id >= this.#objects.length) this.#growColumns()
    const signature = { low: 0, high: 0 }
    for (const [key, value] of object.meta.labels) addLabel(signature, key, value)
    this.#objects[id] = 1
    this.#hashes[id] = hash
    this.#low[id] = signature.low
    this.#high[id] = signature.high
    this.#table[place] = id + 1
    this.#count += 1
    if (this.#count * 2 > this.#table.length) this.#growTable()
    return id
  }

  #growColumns(): void {
    this.#objects = grown(this.#objects)
    this.#hashes = grown(this.#hashes)
    this.#low = grown(this.#low)
    this.#high = grown(this.#high)
  }

  #growTable(): void {
    const old = this.#table
    this.#table = new Uint32Array(2 * old.length)
    for (const entry of old) {
      if (entry === 0) continue
      let place = (this.#hashes[entry - 1] ?? 0) & (this.#table.length - 1)
      while (this.#table[place] !== 0) place = (place + 1) & (this.#table.length - 1)
      this.#table[place] = entry
    }
  }

  /** Where the set stands in the table, or the free place where it would. */
  #placeOf(hash: number, bytes: Buffer, start: number, end: number): number {
    const mask = this.#table.length - 1
    let place = hash & mask
    for (;;) {
      const entry = this.#table[place] ?? 0
      if (entry === 0 || this.#isSet(entry - 1, hash, bytes, start, end)) return place
      place = (place + 1) & mask
    }
  }

  #isSet(id: number, hash: number, bytes: Buffer, start: number, end: number): boolean {
    if (this.#hashes[id] !== hash) return false
    const address = this.#arena.address(id)
    const chunk = chunkAt(this.#arena.chunks, address)
    const at = offsetAt(address)
    const length = lengthAt(chunk, at)
    return length === end - start && chunk.bytes.compare(bytes, start, end, at, at + length) === 0
  }

  /** Moves later entries of the same run up, so that no probe ends too early. */
  #removeFromTable(id: number): void {
    const mask = this.#table.length - 1
    let hole = (this.#hashes[id] ?? 0) & mask
    while (this.#table[hole] !== id + 1) hole = (hole + 1) & mask
    for (let place = (hole + 1) & mask; this.#table[place] !== 0; place = (place + 1) & mask) {
      const entry = this.#table[place] ?? 0
      const home = (this.#hashes[entry - 1] ?? 0) & mask
      if (((place - home) & mask) < ((place - hole) & mask)) continue
      this.#table[hole] = entry
      hole = place
    }
    this.#table[hole] = 0
  }
}

/** FNV-1a with a final mix. */
function hashOf(bytes: Buffer, start: number, end: number): number {
  let h = 0x811c9dc5
  for (let i = start; i < end; i++) h = Math.imul(h ^ (bytes[i] ?? 0), 0x01000193)
  h ^= h >>> 15
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  return h >>> 0
}

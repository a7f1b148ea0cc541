/**
 * The objects of one shard: their bytes, their order and their labels. Slots of staged objects (a replacement that is not
 * committed) have bytes and labels too, but no place in the order.
 */
import type { CanonicalObject } from '../kube/canonical-object.ts'
import type { ClusterName } from '../kube/names.ts'
import { Arena, chunkAt, grown, offsetAt, type Chunks } from './arena.ts'
import { KeyBuffer } from './key-buffer.ts'
import { KeyOrder } from './key-order.ts'
import { LabelSets } from './label-sets.ts'
import { compareRecordKey, compareRecords, objectBytes, objectLength, recordHasName } from './record.ts'
import { recordLength, StoredObject, writeRecord } from './record.ts'

/** The character behind `/`: no key of a namespace sorts behind `namespace0`. */
const BEHIND_SLASH = '0'

export class ShardContent {
  readonly order = new KeyOrder()
  readonly labels = new LabelSets()
  readonly #cluster: ClusterName
  readonly #arena = new Arena()
  #labelSets = new Uint32Array(8)
  readonly #bound = new KeyBuffer()
  #objectBytes = 0

  constructor(cluster: ClusterName) {
    this.#cluster = cluster
  }

  /** Canonical bytes of all slots, staged ones included. */
  get objectBytes(): number {
    return this.#objectBytes
  }

  /** What the shard takes from the system, all indexes included. */
  get capacityBytes(): number {
    return this.#arena.capacityBytes + this.labels.capacityBytes + this.#labelSets.byteLength + 4 * this.order.length
  }

  /** See arena.ts: good together with addresses read at the same moment, for ever. */
  get chunks(): Chunks {
    return this.#arena.chunks
  }

  address(slot: number): number {
    return this.#arena.address(slot)
  }

  labelSet(slot: number): number {
    return this.#labelSets[slot] ?? 0
  }

  object(slot: number): StoredObject {
    return new StoredObject(this.#cluster, this.#arena.chunks, this.#arena.address(slot))
  }

  hasBytes(slot: number, bytes: Uint8Array): boolean {
    return objectBytes(this.#arena.chunks, this.#arena.address(slot)).equals(bytes)
  }

  /** Copies the object in; returns its slot, which has no place in the order yet. */
  insert(key: KeyBuffer, object: CanonicalObject): number {
    const uidLength = Buffer.byteLength(object.meta.uid)
    const slot = this.#arena.insert(recordLength(key, uidLength, object))
    this.#write(slot, key, uidLength, object)
    if (slot >= this.#labelSets.length) this.#labelSets = grown(this.#labelSets)
    this.#labelSets[slot] = this.labels.acquire(object)
    return slot
  }

  /** New bytes for an object that stays where it is in the order. */
  rewrite(slot: number, key: KeyBuffer, object: CanonicalObject): void {
    const uidLength = Buffer.byteLength(object.meta.uid)
    this.#objectBytes -= objectLength(this.#arena.chunks, this.#arena.address(slot))
    this.#arena.rewrite(slot, recordLength(key, uidLength, object))
    this.#write(slot, key, uidLength, object)
    const before = this.labelSet(slot)
    this.#labelSets[slot] = this.labels.acquire(object)
    this.labels.release(before)
  }

  /** Forgets a slot that has no place in the order any more. */
  remove(slot: number): void {
    this.removeAll([slot])
  }

  removeAll(slots: readonly number[]): void {
    for (const slot of slots) {
      this.#objectBytes -= objectLength(this.#arena.chunks, this.#arena.address(slot))
      this.labels.release(this.labelSet(slot))
    }
    this.#arena.removeAll(slots)
  }

  compareKey(slot: number, key: KeyBuffer): number {
    const address = this.#arena.address(slot)
    return compareRecordKey(chunkAt(this.#arena.chunks, address), offsetAt(address), key)
  }

  compareSlots(a: number, b: number): number {
    const { chunks } = this.#arena
    const x = this.#arena.address(a)
    const y = this.#arena.address(b)
    return compareRecords(chunkAt(chunks, x), offsetAt(x), chunkAt(chunks, y), offsetAt(y))
  }

  /** Where `key` stands in an order of these slots, or would. */
  lowerBound(order: KeyOrder, key: KeyBuffer): number {
    return order.lowerBound((slot) => this.compareKey(slot, key))
  }

  /** The index of the object with that key in the order, or -1. */
  find(key: KeyBuffer): number {
    const index = this.lowerBound(this.order, key)
    return index < this.order.length && this.compareKey(this.order.at(index), key) === 0 ? index : -1
  }

  /** The part `[from, to)` of the order that a namespace takes up. */
  namespaceRange(namespace: string): readonly [from: number, to: number] {
    const from = this.lowerBound(this.order, this.#bound.setText(`${namespace}/`))
    return [from, this.lowerBound(this.order, this.#bound.setText(`${namespace}${BEHIND_SLASH}`))]
  }

  hasName(slot: number, name: Uint8Array): boolean {
    const address = this.#arena.address(slot)
    return recordHasName(chunkAt(this.#arena.chunks, address), offsetAt(address), name)
  }

  /** Whether the slot stands in the order, or is only staged. */
  isPlaced(slot: number): boolean {
    const index = this.order.lowerBound((other) => this.compareSlots(other, slot))
    return index < this.order.length && this.order.at(index) === slot
  }

  #write(slot: number, key: KeyBuffer, uidLength: number, object: CanonicalObject): void {
    const address = this.#arena.address(slot)
    writeRecord(chunkAt(this.#arena.chunks, address), offsetAt(address), key, uidLength, object)
    this.#objectBytes += object.bytes.length
  }
}

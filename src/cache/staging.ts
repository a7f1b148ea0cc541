/**
 * A replacement that is being filled: objects go into the shard's memory as they come, in slots without a place in its
 * order, so that a commit only swaps orders. An object whose bytes have not changed keeps the slot that it has.
 */
import type { CanonicalObject } from '../kube/canonical-object.ts'
import type { ResourceVersion } from '../kube/names.ts'
import type { Replacement, WatchEventType } from '../informer/reflector-store.ts'
import { KeyBuffer } from './key-buffer.ts'
import { KeyOrder } from './key-order.ts'
import type { StoredObject } from './record.ts'
import type { ShardContent } from './shard-content.ts'

/** What staging needs of its shard. */
export interface StagingTarget {
  readonly content: ShardContent
  readonly closed: boolean
  receive(object: Uint8Array): CanonicalObject
  /** Whether the shard keeps objects of that namespace. */
  takes(namespace: string): boolean
  /** Throws where there is no room for one object more. */
  requireRoom(staging: Staging): void
  install(staging: Staging, version: ResourceVersion): void
  forget(staging: Staging): void
}

export class Staging implements Replacement {
  readonly order = new KeyOrder()
  /** Set where only this namespace is replaced. */
  readonly namespace: string | undefined
  readonly #target: StagingTarget
  readonly #key = new KeyBuffer()
  #state: 'open' | 'done' | 'superseded' | 'abandoned' = 'open'
  /** Where the next object probably stands in the shard's order, since lists come in key order. */
  #hint = 0

  constructor(target: StagingTarget, namespace: string | undefined) {
    this.#target = target
    this.namespace = namespace
  }

  /** Throws `MalformedObjectError`. Of two objects with one key the later one counts. */
  add(object: Uint8Array): void {
    if (this.#isOver()) return
    const received = this.#target.receive(object)
    const { namespace, name } = received.meta
    if (this.namespace !== undefined && namespace !== this.namespace) return
    if (!this.#target.takes(namespace)) return
    this.#target.requireRoom(this)
    this.#key.set(namespace, name)
    const slot = this.#unchanged(received) ?? this.#target.content.insert(this.#key, received)
    this.#place(slot)
  }

  commit(version: ResourceVersion): void {
    if (this.#isOver()) return
    this.#state = 'done'
    this.#target.install(this, version)
  }

  discard(): void {
    if (this.#state !== 'open') return
    this.#state = 'done'
    this.#target.forget(this)
    if (!this.#target.closed) this.#removeStaged(() => true)
  }

  /** Another replacement of the same objects has begun, or events of them came: this one may not commit any more. */
  supersede(): void {
    this.discard()
    this.#state = 'superseded'
  }

  /** Its writer has been replaced by another: what it still says goes nowhere. */
  abandon(): void {
    this.discard()
    this.#state = 'abandoned'
  }

  /** Drops what the shard has just stopped taking; to be called while the shard's order still has it. */
  narrow(): void {
    const { content } = this.#target
    this.#removeStaged((slot) => !this.#target.takes(content.object(slot).namespace))
  }

  /** A shard that is gone swallows what still comes; to go on with a superseded replacement is a fault of ours. */
  #isOver(): boolean {
    if (this.#target.closed || this.#state === 'abandoned') return true
    if (this.#state === 'open') return false
    throw new Error(`this replacement is ${this.#state}`)
  }

  /** The slot of the object as the shard has it, if it has exactly these bytes. */
  #unchanged(received: CanonicalObject): number | undefined {
    const { content } = this.#target
    const index = this.#isAtHint() ? this.#hint : content.find(this.#key)
    if (index === -1) return undefined
    this.#hint = index + 1
    const slot = content.order.at(index)
    return content.hasBytes(slot, received.bytes) ? slot : undefined
  }

  #isAtHint(): boolean {
    const { content } = this.#target
    return this.#hint < content.order.length && content.compareKey(content.order.at(this.#hint), this.#key) === 0
  }

  #place(slot: number): void {
    const { content } = this.#target
    const last = this.order.length - 1
    if (last < 0 || content.compareKey(this.order.at(last), this.#key) < 0) return this.order.append(slot)
    const index = content.lowerBound(this.order, this.#key)
    if (content.compareKey(this.order.at(index), this.#key) !== 0) return this.order.insertAt(index, slot)
    const doubled = this.order.at(index)
    this.order.setAt(index, slot)
    if (doubled !== slot && !content.isPlaced(doubled)) content.remove(doubled)
  }

  #removeStaged(which: (slot: number) => boolean): void {
    const { content } = this.#target
    const kept = new KeyOrder()
    for (let i = 0; i < this.order.length; i++) {
      const slot = this.order.at(i)
      if (!which(slot)) kept.append(slot)
      else if (!content.isPlaced(slot)) content.remove(slot)
    }
    this.order.splice(0, this.order.length, kept)
  }
}

/** One difference between two states of a shard. Equal keys with different UIDs are a deletion and an addition. */
export interface Difference {
  readonly type: WatchEventType
  readonly object: StoredObject
  readonly previous: StoredObject | undefined
}

/** Objects compared, of which none has changed, between two places where one may pause. */
const PAUSE = 1_024

/**
 * What `next` changes in `before`, in key order; slots that are no longer needed are put into `gone`. Now and then undefined:
 * nothing has changed for a while. The slots of both must stay until the end.
 */
export function* differences(
  content: ShardContent,
  before: KeyOrder,
  next: KeyOrder,
  gone: number[],
): Generator<Difference | undefined, void, undefined> {
  let i = 0
  let j = 0
  for (let compared = 1; i < before.length || j < next.length; compared++) {
    const old = before.at(i)
    const fresh = next.at(j)
    const order = i >= before.length ? 1 : j >= next.length ? -1 : old === fresh ? 0 : content.compareSlots(old, fresh)
    if (order <= 0) i += 1
    if (order >= 0) j += 1
    if (old !== fresh || order !== 0) {
      if (order <= 0) gone.push(old)
      if (order < 0) yield deletion(content.object(old))
      else if (order > 0) yield { type: 'ADDED', object: content.object(fresh), previous: undefined }
      else yield* replaced(content.object(old), content.object(fresh))
    } else if (compared % PAUSE === 0) yield undefined
  }
}

/** A deletion noticed afterwards: the object is the last state known. */
export function deletion(object: StoredObject): Difference {
  return { type: 'DELETED', object, previous: object }
}

function replaced(previous: StoredObject, object: StoredObject): Difference[] {
  if (previous.hasUidOf(object)) return [{ type: 'MODIFIED', object, previous }]
  return [deletion(previous), { type: 'ADDED', object, previous: undefined }]
}

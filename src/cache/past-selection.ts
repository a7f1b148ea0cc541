/** What a filter takes of a shard as it was: its order of now and what was undone, merged. */
import type { ClusterName } from '../kube/names.ts'
import type { LabelSelector } from '../kube/label-selector.ts'
import { scanObject } from '../kube/object-scanner.ts'
import { objectKey } from '../kube/names.ts'
import { compareUtf8 } from '../util/bytes.ts'
import type { Chunks } from './arena.ts'
import { KeyBuffer } from './key-buffer.ts'
import type { PastView, Undone } from './past.ts'
import type { CachedObject } from './reader.ts'
import { objectBytes, StoredObject } from './record.ts'
import { matcherOf, rangeOf, type Selected, type SelectedPart, type ShardFilter } from './snapshot.ts'

/** Objects of one shard, in key order: addresses of those that are as they were, and those that are not any more. */
class PastSelection implements Selected {
  readonly cluster: ClusterName
  readonly #chunks: Chunks
  readonly #items: readonly (number | CachedObject)[]

  constructor(cluster: ClusterName, chunks: Chunks, items: readonly (number | CachedObject)[]) {
    this.cluster = cluster
    this.#chunks = chunks
    this.#items = items
  }

  get length(): number {
    return this.#items.length
  }

  at(index: number): CachedObject {
    const item = this.#item(index)
    return typeof item === 'number' ? new StoredObject(this.cluster, this.#chunks, item) : item
  }

  bytesAt(index: number): Uint8Array {
    const item = this.#item(index)
    return typeof item === 'number' ? objectBytes(this.#chunks, item) : item.bytes
  }

  #item(index: number): number | CachedObject {
    const item = this.#items[index]
    if (item === undefined) throw new RangeError(`no object at ${index}`)
    return item
  }
}

const key = new KeyBuffer()

/** Takes at most `limit` objects; `remaining` leaves the labels out of account. */
export function selectPast(view: PastView, filter: ShardFilter, limit: number): SelectedPart {
  const { cluster, content } = view.shard
  const [from, to] = rangeOf(view.shard, filter)
  const [undoneFrom, undoneTo] = undoneRange(view, filter)
  const matchesNow = matcherOf(content, filter)
  const items: (number | CachedObject)[] = []
  let slotAt = from
  let undoneAt = undoneFrom
  const { undone } = view
  if (undoneAt < undoneTo) key.setText((undone[undoneAt] as Undone).key)
  while (items.length < limit && (slotAt < to || undoneAt < undoneTo)) {
    const slot = content.order.at(slotAt)
    const order = slotAt >= to ? 1 : undoneAt >= undoneTo ? -1 : content.compareKey(slot, key)
    if (order < 0) {
      if (matchesNow === undefined || matchesNow(slot)) items.push(content.address(slot))
      slotAt += 1
      continue
    }
    const { before } = undone[undoneAt] as Undone
    if (before !== undefined && matched(before, filter)) items.push(before)
    if (order === 0) slotAt += 1
    undoneAt += 1
    if (undoneAt < undoneTo) key.setText((undone[undoneAt] as Undone).key)
  }
  let remaining = to - slotAt
  for (let i = undoneAt; i < undoneTo; i++) {
    const { before, present } = undone[i] as Undone
    remaining += (before === undefined ? 0 : 1) - (present ? 1 : 0)
  }
  return { selection: new PastSelection(cluster, content.chunks, items), remaining: Math.max(0, remaining) }
}

/** The part of what was undone that namespace, name (where it is exact) and `after` leave over. */
function undoneRange(view: PastView, filter: ShardFilter): readonly [from: number, to: number] {
  const { namespace, name, after } = filter
  let from = 0
  let to = view.undone.length
  if (namespace !== undefined && name !== undefined) {
    const exact = objectKey(namespace, name)
    from = view.lowerBound(exact)
    to = view.undone[from]?.key === exact ? from + 1 : from
  } else if (namespace !== undefined && namespace !== '') {
    from = view.lowerBound(`${namespace}/`)
    to = view.lowerBound(`${namespace}0`) // the character behind `/`
  }
  const order = after === undefined ? 1 : compareUtf8(view.shard.cluster, after.cluster)
  if (after === undefined || order > 0) return [from, to]
  if (order < 0) return [to, to]
  const behind = view.lowerBound(after.key)
  const first = view.undone[behind]?.key === after.key ? behind + 1 : behind
  return [Math.min(to, Math.max(from, first)), to]
}

function matched(object: CachedObject, { name, labels }: ShardFilter): boolean {
  if (name !== undefined && object.name !== name) return false
  return labels === undefined || labels.empty || labelsMatch(labels, object.bytes)
}

function labelsMatch(selector: LabelSelector, bytes: Uint8Array): boolean {
  const { labels } = scanObject(bytes)
  return selector.matches((wanted) => labels.find(([label]) => label === wanted)?.[1])
}

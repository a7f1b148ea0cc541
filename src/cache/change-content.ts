/** Brings objects into a shard's content and takes them out, and says what watchers are to be told of it. */
import type { WatchEventType } from '../informer/reflector-store.ts'
import type { CanonicalObject } from '../kube/canonical-object.ts'
import type { ClusterName } from '../kube/names.ts'
import type { KeyBuffer } from './key-buffer.ts'
import { KeyOrder } from './key-order.ts'
import { detached, received } from './record.ts'
import { isOld, type ShardChange } from './shard-changes.ts'
import type { ShardContent } from './shard-content.ts'
import { deletion, type Difference } from './staging.ts'

export interface ObjectEvent {
  readonly cluster: ClusterName
  readonly type: WatchEventType
  readonly object: CanonicalObject
  /** Of the object; not kept. */
  readonly key: KeyBuffer
  /** Throws where an object more is one too many. */
  readonly requireRoom: () => void
}

/** Brings one object in or out. */
export function changeObject(content: ShardContent, event: ObjectEvent): ShardChange[] {
  const { cluster, type, object, key } = event
  const index = content.find(key)
  const slot = index === -1 ? undefined : content.order.at(index)
  const stored = slot === undefined ? undefined : content.object(slot)
  if (isOld(type, object, stored)) return []
  const incoming = received(cluster, object)
  const previous = stored === undefined ? undefined : detached(stored)
  if (slot === undefined || previous === undefined) {
    event.requireRoom()
    content.order.insertAt(content.lowerBound(content.order, key), content.insert(key, object))
    return [{ type: 'ADDED', object: incoming, previous: undefined }]
  }
  if (type === 'DELETED') {
    content.order.removeAt(index)
    content.remove(slot)
    return [{ type: 'DELETED', object: previous.uid === incoming.uid ? incoming : previous, previous }]
  }
  content.rewrite(slot, key, object)
  if (previous.uid === incoming.uid) return [{ type: 'MODIFIED', object: incoming, previous }]
  return [
    { type: 'DELETED', object: previous, previous },
    { type: 'ADDED', object: incoming, previous: undefined },
  ]
}

/** Takes out what is in namespaces that are not kept, a namespace at a time. */
export function takeOut(content: ShardContent, keeps: (namespace: string) => boolean): Difference[] {
  const { order } = content
  const kept = new KeyOrder()
  const gone: number[] = []
  for (let i = 0; i < order.length;) {
    const { namespace } = content.object(order.at(i))
    const end = namespace === '' ? i + 1 : content.namespaceRange(namespace)[1]
    const stays = keeps(namespace)
    for (; i < end; i++) {
      if (stays) kept.append(order.at(i))
      else gone.push(order.at(i))
    }
  }
  if (gone.length === 0) return []
  const changes = gone.map((slot) => deletion(content.object(slot)))
  order.splice(0, order.length, kept)
  content.removeAll(gone)
  return changes
}

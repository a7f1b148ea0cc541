/** What a shard makes of incoming objects and versions: pure rules, and the changes it tells. */
import type { WatchEventType } from '../informer/reflector-store.ts'
import type { CanonicalObject } from '../kube/canonical-object.ts'
import { compareResourceVersions, type ResourceVersion } from '../kube/names.ts'
import type { CachedObject } from './reader.ts'
import { detached } from './record.ts'
import type { ShardContent } from './shard-content.ts'
import type { Difference } from './staging.ts'

export interface ShardChange {
  readonly type: WatchEventType
  readonly object: CachedObject
  readonly previous: CachedObject | undefined
}

/**
 * Up to so many changes of one batch get bytes of their own. Bigger batches leave them where they are: copying would stall
 * the loop, and the chunks that they keep alive consist mostly of them.
 */
export const FEW_CHANGES = 64

/** Slots freed in one turn of the event loop: about two milliseconds. */
const REMOVED_AT_ONCE = 4_096

/** Frees slots a slice at a time; nobody waits for them. */
export function removeInSlices(content: ShardContent, gone: number[]): void {
  content.removeAll(gone.splice(-REMOVED_AT_ONCE))
  if (gone.length > 0) setImmediate(() => removeInSlices(content, gone))
}

/** Differences as they are told: few have bytes of their own. */
export function owned(changes: readonly Difference[]): readonly ShardChange[] {
  if (changes.length > FEW_CHANGES) return changes
  return changes.map(({ type, object, previous }) => {
    const own = detached(object)
    if (previous === undefined || previous === object) return { type, object: own, previous: previous && own }
    return { type, object: own, previous: detached(previous) }
  })
}

/** An event that says nothing new: a replay, or a deletion of what is not there or has been created anew since. */
export function isOld(type: WatchEventType, object: CanonicalObject, stored: CachedObject | undefined): boolean {
  if (stored === undefined) return type === 'DELETED'
  const { resourceVersion, uid } = object.meta
  const order = compareResourceVersions(resourceVersion, stored.resourceVersion)
  if (type === 'DELETED') return uid !== stored.uid && order !== undefined && order < 0
  if (order === undefined || resourceVersion === '') return object.bytes.equals(stored.bytes)
  return order <= 0
}

/** The newer of two versions; of two without an order, the one that came last. */
export function later(current: ResourceVersion, next: ResourceVersion): ResourceVersion {
  if (next === '') return current
  const order = compareResourceVersions(next, current)
  return order === undefined || order > 0 ? next : current
}

/** Whether a shard that moves from `before` to `after` has begun to count anew, as after its store was lost. */
export function isOtherHistory(before: ResourceVersion, after: ResourceVersion): boolean {
  const order = compareResourceVersions(after, before)
  if (order !== undefined) return order < 0
  const zero = '0' as ResourceVersion
  return (compareResourceVersions(before, zero) === undefined) !== (compareResourceVersions(after, zero) === undefined)
}

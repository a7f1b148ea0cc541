/** What a change is to a watcher with selectors: entering a selection is ADDED, leaving it DELETED. */
import type { CachedObject, CacheEvent } from '../../cache/reader.ts'
import type { Selection } from '../../http/selection.ts'
import { parseObject } from '../../http/selection.ts'
import type { LabelSelector } from '../../kube/label-selector.ts'
import { scanObject } from '../../kube/object-scanner.ts'

export interface Transition {
  readonly type: CacheEvent['type']
  /** The event's object, or, where it left the selection, the last state that was in it. */
  readonly object: CachedObject
}

export type Matcher = (object: Pick<CachedObject, 'bytes' | 'cluster'>) => boolean

/** undefined: everything matches. Name and namespace are the cache's to select. */
export function matcherOf({ labels, fields, clusters, nothing }: Selection): Matcher | undefined {
  if (nothing) return () => false
  if (labels === undefined && fields === undefined && clusters === undefined) return undefined
  return ({ bytes, cluster }) =>
    (clusters === undefined || clusters(cluster)) &&
    (labels === undefined || labelsMatch(labels, bytes)) &&
    (fields === undefined || fields(parseObject(bytes)))
}

/** Undefined where the watcher hears nothing of it. Source: apiserver storage/cacher, convertToWatchEvent. */
export function transition(event: CacheEvent, matches: Matcher | undefined): Transition | undefined {
  const { type, object, previous } = event
  if (matches === undefined) return { type, object }
  if (type === 'DELETED') return matches(previous ?? object) ? { type, object } : undefined
  const before = previous !== undefined && matches(previous)
  if (matches(object)) return { type: before ? 'MODIFIED' : 'ADDED', object }
  return before ? { type: 'DELETED', object: previous } : undefined
}

function labelsMatch(selector: LabelSelector, bytes: Uint8Array): boolean {
  const { labels } = scanObject(bytes)
  return selector.matches((key) => labels.find(([name]) => name === key)?.[1])
}

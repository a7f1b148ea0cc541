/**
 * The write side of one (cluster, resource), as a reflector needs it; declared here by its user and implemented by
 * `cache/`, so that `informer/` never imports `cache/`.
 *
 * Contract:
 * - Objects arrive as the member sent them: one JSON object each, `kind` and `apiVersion` possibly left out (LIST items).
 *   The bytes are only valid during the call: the store copies what it keeps.
 * - A replacement is invisible until `commit`, which swaps the whole content at once; readers and watchers are told the
 *   difference. A replacement that is discarded leaves no trace.
 * - Where there is no room for an object, `add` and `apply` throw a `ReflectorError` tooMany, and nothing changes.
 * - `apply` is idempotent: an event whose object is not newer than what is stored changes nothing and tells nobody.
 */
import type { ResourceVersion } from '../kube/names.ts'

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED'

export interface ReflectorStore {
  beginReplace(): Replacement
  /** Returns the version the store stands at now. Throws `MalformedObjectError` (kube/) where the bytes are no object. */
  apply(type: WatchEventType, object: Uint8Array): ResourceVersion
  /** A BOOKMARK: moves the version and nothing else. */
  bookmark(version: ResourceVersion): void
  /** How the reflector fares; readers see it as freshness. */
  report(state: ReflectorState): void
}

export interface Replacement {
  add(object: Uint8Array): void
  commit(version: ResourceVersion): void
  discard(): void
}

/** What a reader is told of how fresh a shard is. `since` fields are monotonic milliseconds. */
export type ReflectorState =
  | { readonly phase: 'listing' }
  /** A live watch; `heardMs` is when the member last said anything (an event, a bookmark, a list). */
  | {
      readonly phase: 'watching'
      /** Objects that could not be read since the last list, and are missing from the content. Default 0. */
      readonly leftOut?: number
    }
  /** The member fails; retried. `message` is short and free of secrets. */
  | { readonly phase: 'failing'; readonly code: string; readonly message: string }

/** How many objects are missing because they could not be read. */
export function leftOutOf(state: ReflectorState): number {
  return state.phase === 'watching' ? (state.leftOut ?? 0) : 0
}

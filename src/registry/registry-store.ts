/**
 * Where ResourceRegistries are kept. Knows nothing of what a valid one is (resource-registries.ts does).
 *
 * Contract (test/conformance/registry-store-suite.ts holds every store to it):
 * - One version for the whole store, a decimal that grows with each write, also across restarts. Every object's
 *   `metadata.resourceVersion` is the version of its last write; that of a DELETED event is the version of the deletion.
 * - `create`, `update` and `delete` are atomic: of two writers that saw the same version one fails with `conflict`.
 * - `watch(from)` yields each change behind `from` once, in the order of versions, or fails with `expired` where changes
 *   behind it are no longer known. It sees the changes of this process and of others. Where the store's version grows
 *   without changes of registries, bookmarks tell.
 * - Objects handed out belong to the receiver; nothing it does to them reaches the store.
 * Errors are `StatusError`s: alreadyExists, notFound, conflict, expired, and serviceUnavailable where the medium fails.
 */
import type { ResourceRegistry } from '../api/resource-registry.ts'
import type { ResourceVersion } from '../kube/names.ts'

export interface RegistryList {
  /** In the byte order of their names. */
  readonly items: readonly ResourceRegistry[]
  readonly version: ResourceVersion
}

export interface RegistryChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: ResourceRegistry
  /** What it was before; undefined for ADDED. */
  readonly previous: ResourceRegistry | undefined
}

/** Nothing changed up to this version, which a watch may be resumed from. */
export interface RegistryBookmark {
  readonly type: 'BOOKMARK'
  readonly version: ResourceVersion
}

export type RegistryEvent = RegistryChange | RegistryBookmark

export interface RegistryReader {
  get(name: string): Promise<ResourceRegistry | undefined>
  list(): Promise<RegistryList>
  /** Ends when the signal aborts. */
  watch(from: ResourceVersion, signal: AbortSignal): AsyncIterable<RegistryEvent>
}

/**
 * Short texts of this program itself, by name, beside the registries: whoever shares those shares these. The last of several
 * writers wins. Names are ASCII without spaces.
 */
export interface NoteStore {
  notes(): Promise<ReadonlyMap<string, string>>
  note(name: string, text: string): Promise<void>
  /** Also where it does not exist. */
  forget(name: string): Promise<void>
}

export interface RegistryStore extends RegistryReader, NoteStore {
  /** The object's own resourceVersion is ignored. */
  create(registry: ResourceRegistry): Promise<ResourceRegistry>
  update(registry: ResourceRegistry, expected: ResourceVersion): Promise<ResourceRegistry>
  /** Writes an object that has not changed anew where its stored form is out of date. Absent: it never is. */
  refresh?(registry: ResourceRegistry): Promise<ResourceRegistry>
  /** Returns the object as it was, with the version of its deletion. */
  delete(name: string, expected: ResourceVersion): Promise<ResourceRegistry>
  /** Rejects where the medium does not answer within `timeoutMs`. Absent: it is part of this process. */
  probe?(timeoutMs: number): Promise<void>
  /** Upkeep of the medium until the signal aborts. Absent: it needs none. */
  run?(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

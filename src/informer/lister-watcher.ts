/** Where a reflector gets its objects: one resource of one member, all namespaces or one. */
import type { ResourceVersion } from '../kube/names.ts'
import type { RawWatchEvent } from '../kube/watch-splitter.ts'

/** Takes the items of a list, one at a time; the bytes are only valid during the call. */
export interface ListSink {
  add(object: Uint8Array): void
  /** The list begins again: everything added so far is void. */
  restart(): void
}

/** All calls throw `MemberError` or `ReflectorError` for the member's faults, and the signal's reason when it aborts. */
export interface ListerWatcher {
  /** For logs and errors: `member1/apps/v1/deployments`. */
  readonly name: string
  /** The whole collection, page by page, at one version, which is returned. */
  list(sink: ListSink, signal: AbortSignal): Promise<ResourceVersion>
  /**
   * Resolves when the member has accepted the watch. Batches of whole events, in order, each valid until the next is
   * asked for; ERROR events are thrown. Ends when the server closes the stream cleanly.
   */
  watch(from: ResourceVersion, signal: AbortSignal): Promise<AsyncIterable<readonly WatchBatchEvent[]>>
  /** Where the collection stands now, asked cheaply. */
  currentVersion(signal: AbortSignal): Promise<ResourceVersion>
  /** Calls back when retrying is worth while at once (see `MemberClient.onRecovery`). Returns how to stop. */
  onRecovery?(listener: () => void): () => void
}

export type WatchBatchEvent = Exclude<RawWatchEvent, { type: 'ERROR' }>

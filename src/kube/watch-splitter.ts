import type { Status } from './status-error.ts'

/** One event of a watch. `object` is only valid until the next `push`. */
export type RawWatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: Uint8Array }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  | { readonly type: 'ERROR'; readonly status: Status }

export interface WatchSplitterOptions {
  /** A larger event is a `MalformedEventError` of code `tooLarge`. */
  readonly maxEventBytes: number
}

export class WatchSplitter {
  readonly #options: WatchSplitterOptions

  constructor(options: WatchSplitterOptions) {
    this.#options = options
  }

  /** Whole events, in order; of a chunk with a malformed one those before it, the next call then throws `MalformedEventError`. */
  push(chunk: Uint8Array): RawWatchEvent[] {
    throw new Error(`not split: ${chunk.length} ${this.#options.maxEventBytes}`)
  }

  /** How many bytes of an unfinished event are discarded; 0 where the stream ended between events. */
  end(): number {
    return 0
  }
}

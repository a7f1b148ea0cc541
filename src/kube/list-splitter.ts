/** What a list says about itself, besides its items. */
export interface ListHead {
  readonly apiVersion: string
  readonly kind: string
  readonly resourceVersion: string
  /** Empty on the last page. */
  readonly continue: string
  readonly remainingItemCount?: number
}

export interface ListSplitterOptions {
  /** A larger item is a `MalformedListError` of code `tooLarge`. */
  readonly maxObjectBytes: number
  /** One item as it stands in the list; only valid during the call. */
  readonly onItem: (bytes: Uint8Array) => void
}

export class ListSplitter {
  readonly #options: ListSplitterOptions

  constructor(options: ListSplitterOptions) {
    this.#options = options
  }

  push(chunk: Uint8Array): void {
    throw new Error(`not split: ${chunk.length} ${this.#options.maxObjectBytes}`)
  }

  /** Throws `MalformedListError`; `status` is set on it where the body was a `Status` instead of a list. */
  end(): ListHead {
    throw new Error('not split')
  }
}

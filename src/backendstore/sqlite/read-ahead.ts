/** Has the reader read into columns what was written, slice by slice between queries, before it is asked for. */

export interface ReadAheadSlice {
  /** Whether something is left to read. */
  readonly more: boolean
  /** That the columns take; 0 where there are none. */
  readonly bytes: number
}

export class ReadAhead {
  readonly #slice: () => Promise<ReadAheadSlice>
  readonly #onBytes: (bytes: number) => void
  #isReading = false
  #isWanted = false

  constructor(slice: () => Promise<ReadAheadSlice>, onBytes: (bytes: number) => void) {
    this.#slice = slice
    this.#onBytes = onBytes
  }

  /** There may be something to read. What fails is met by the next query, which tells. */
  want(): void {
    this.#isWanted = true
    if (this.#isReading) return
    this.#isReading = true
    this.#read()
      .catch(() => undefined)
      .finally(() => {
        this.#isReading = false
      })
  }

  async #read(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false
      let slice: ReadAheadSlice
      do {
        slice = await this.#slice()
        this.#onBytes(slice.bytes)
      } while (slice.more)
    }
  }
}

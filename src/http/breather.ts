/** Gives the event loop a turn while a long answer is made, so that no other request waits behind it. */

/**
 * Bytes handled between two turns. Parsing runs at about 100 MB/s and copying far faster: 512 KiB are at most 5 ms, a
 * quarter of the longest block that is allowed (20 ms).
 */
const BYTES_PER_TURN = 512 * 1024

export class Breather {
  #bytes = 0

  /** Counts work done; true when it is time for `pause`. */
  spent(bytes: number): boolean {
    this.#bytes += bytes
    return this.#bytes >= BYTES_PER_TURN
  }

  /** Lets everything else that is ready run first. */
  pause(): Promise<void> {
    this.#bytes = 0
    return new Promise((resolve) => setImmediate(resolve))
  }
}

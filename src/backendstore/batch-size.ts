/** How many objects a batch has: fewer for a store that is short of breath, more again as it recovers. */

/** As TCP: halved at once, won back in eighths. */
const GROWTH = 1 / 8

/** A store that refuses even these is down, not busy. */
const LEAST = 16

export class BatchSize {
  readonly #most: number
  #now: number

  constructor(most: number) {
    this.#most = most
    this.#now = most
  }

  get objects(): number {
    return this.#now
  }

  shrink(): void {
    this.#now = Math.max(Math.min(LEAST, this.#most), Math.floor(this.#now / 2))
  }

  grow(): void {
    this.#now = Math.min(this.#most, this.#now + Math.max(1, Math.ceil(this.#most * GROWTH)))
  }
}

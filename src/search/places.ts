/** So many of something at once; more are refused with 429. */
import { StatusError } from '../kube/status-error.ts'

export class Places {
  readonly most: number
  readonly #what: string
  #taken = 0

  constructor(what: string, most: number) {
    this.#what = what
    this.most = most
  }

  now(): number {
    return this.#taken
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#taken >= this.most) {
      const details = { retryAfterSeconds: 5 }
      throw new StatusError('tooManyRequests', `${this.most} ${this.#what} are under way`, { details })
    }
    this.#taken += 1
    try {
      return await work()
    } finally {
      this.#taken -= 1
    }
  }
}

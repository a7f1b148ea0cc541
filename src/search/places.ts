/** So many of something at once, and of one user; more are refused with 429. */
import { StatusError } from '../kube/status-error.ts'

export class Places {
  readonly most: number
  readonly #what: string
  readonly #mostOfUser: number
  readonly #ofUser = new Map<string, number>()
  #taken = 0

  constructor(what: string, most: number, mostOfUser = most) {
    this.#what = what
    this.most = most
    this.#mostOfUser = mostOfUser
  }

  now(): number {
    return this.#taken
  }

  async run<Result>(user: string, work: () => Promise<Result>): Promise<Result> {
    const own = this.#ofUser.get(user) ?? 0
    if (this.#taken >= this.most) throw refusal(`${this.most} ${this.#what} are under way`)
    if (own >= this.#mostOfUser) throw refusal(`${own} ${this.#what} of this user are under way`)
    this.#taken += 1
    this.#ofUser.set(user, own + 1)
    try {
      return await work()
    } finally {
      this.#taken -= 1
      this.#leave(user)
    }
  }

  #leave(user: string): void {
    const own = (this.#ofUser.get(user) ?? 0) - 1
    if (own > 0) this.#ofUser.set(user, own)
    else this.#ofUser.delete(user)
  }
}

function refusal(message: string): StatusError {
  return new StatusError('tooManyRequests', message, { details: { retryAfterSeconds: 5 } })
}

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
    const leave = this.enter(user)
    if (leave === undefined) throw this.#refusal(user)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /** Takes a place until what it returns is called, once; undefined: there is none. */
  enter(user: string): (() => void) | undefined {
    const own = this.#own(user)
    if (this.#taken >= this.most || own >= this.#mostOfUser) return undefined
    this.#taken += 1
    this.#ofUser.set(user, own + 1)
    return () => {
      this.#taken -= 1
      this.#leave(user)
    }
  }

  #refusal(user: string): StatusError {
    const [many, whose] = this.#taken >= this.most ? [this.most, ''] : [this.#own(user), ' of this user']
    const message = `${many} ${this.#what}${whose} are under way`
    return new StatusError('tooManyRequests', message, { details: { retryAfterSeconds: 5 } })
  }

  #own(user: string): number {
    return this.#ofUser.get(user) ?? 0
  }

  #leave(user: string): void {
    const own = this.#own(user) - 1
    if (own > 0) this.#ofUser.set(user, own)
    else this.#ofUser.delete(user)
  }
}

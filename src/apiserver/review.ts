/** Questions that only the control plane can answer: whose token this is, and what somebody may do. */
import { StatusError } from '../kube/status-error.ts'

/** Posts a review and resolves with the control plane's parsed answer; rejects where there is none. */
export type PostReview = (review: object, signal: AbortSignal) => Promise<unknown>

/** Nobody can say now whether the caller may; refused, and worth another try. */
export function undecided(what: string, cause: unknown): StatusError {
  return new StatusError('serviceUnavailable', `the control plane could not be asked ${what}`, {
    details: { retryAfterSeconds: 1 },
    cause,
  })
}

/** Too many questions at once: whoever floods us must not flood the control plane through us. */
export function tooManyReviews(): StatusError {
  return new StatusError('tooManyRequests', 'Too many requests, please try again later.', {
    details: { retryAfterSeconds: 1 },
  })
}

/** One question for all who ask it at the same time, and a bound on different ones. */
export class PendingReviews<Answer> {
  readonly #asked = new Map<string, Promise<Answer>>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Joins the question of this key, or asks it. Rejects with what `ask` rejects with, and `tooManyRequests` past the limit. */
  async join(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.#asked.get(key)
    if (known !== undefined) return known
    if (this.#asked.size >= this.#limit) throw tooManyReviews()
    const answer = ask().finally(() => {
      this.#asked.delete(key)
    })
    this.#asked.set(key, answer)
    return answer
  }
}

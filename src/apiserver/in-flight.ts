/**
 * How many requests are answered at once, reads and writes apart, so that a flood of the one leaves room for the other.
 * Requests that last (watches) take no place. Source: apiserver pkg/server/filters/maxinflight.go.
 */
import { StatusError } from '../kube/status-error.ts'

export type RequestKind = 'readOnly' | 'mutating' | 'watch'

/** 0: no limit. */
export interface InFlightLimits {
  readonly readOnly: number
  readonly mutating: number
}

export class InFlight {
  readonly #limits: InFlightLimits
  readonly #now = { readOnly: 0, mutating: 0 }

  constructor(limits: InFlightLimits) {
    this.#limits = limits
  }

  /**
   * Takes a place and returns how to leave it. Throws `tooManyRequests` where there is none, unless `privileged`: whoever
   * administers the server gets in when it is full, as in a kube-apiserver.
   */
  enter(kind: RequestKind, privileged: boolean): () => void {
    if (kind === 'watch') return () => undefined
    const limit = this.#limits[kind]
    if (limit > 0 && this.#now[kind] >= limit && !privileged) {
      throw new StatusError('tooManyRequests', 'Too many requests, please try again later.', {
        details: { retryAfterSeconds: 1 },
      })
    }
    this.#now[kind] += 1
    let left = false
    return () => {
      if (!left) this.#now[kind] -= 1
      left = true
    }
  }
}

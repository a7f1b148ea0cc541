/**
 * Tries one page of a list again instead of the whole list: when the member is busy and says when to come back, and when
 * the connection broke behind the first page. A page with a continue token is of one snapshot, so what was already taken
 * of it is skipped by count.
 * Source: client-go rest/with_retry.go (at most 10 times, only where the server sent Retry-After).
 */
import { isMemberError } from '../fleet/member-error.ts'
import type { Clock, Random } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import { Backoff, RETRY } from './backoff.ts'
import type { ListSink } from './lister-watcher.ts'
import { ReflectorError } from './reflector-error.ts'

const MAX_TRIES = 10
const MAX_BREAKS = 3 // a connection that breaks more often than this on one page is not worth the wait
const SPREAD_MS = 1_000 // so that those who were told the same Retry-After do not return together

export class PageRetry {
  readonly #clock: Clock
  readonly #random: Random

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** `repeatable`: the page has a continue token. `page` feeds its items to the callback it is given. */
  async run<T>(
    repeatable: boolean,
    sink: Pick<ListSink, 'add'>,
    page: (onItem: (bytes: Uint8Array) => void) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const backoff = new Backoff(RETRY, this.#clock, this.#random)
    let taken = 0
    let breaks = 0
    for (let tries = 1; ; tries++) {
      let seen = 0
      try {
        return await page((bytes) => {
          seen += 1
          if (seen <= taken) return
          taken = seen
          sink.add(bytes)
        })
      } catch (error) {
        if (signal.aborted || tries >= MAX_TRIES) throw error
        if (isBusy(error) && taken === 0) {
          await sleep(error.retryAfterMs + this.#random() * SPREAD_MS, this.#clock, signal)
        } else if (repeatable && isBroken(error) && breaks < MAX_BREAKS) {
          breaks += 1
          await sleep(backoff.nextMs(), this.#clock, signal)
        } else {
          throw error
        }
      }
    }
  }
}

function isBusy(error: unknown): error is ReflectorError & { retryAfterMs: number } {
  return error instanceof ReflectorError && error.code === 'throttled' && error.retryAfterMs !== undefined
}

function isBroken(error: unknown): boolean {
  return isMemberError(error, 'closed') || isMemberError(error, 'timeout')
}

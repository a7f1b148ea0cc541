/** How long one request may go on: until its client goes, the server stops, or its time is up. */
import type { ServerResponse } from 'node:http'
import { parseGoDuration } from '../kube/duration.ts'
import { badRequest, StatusError } from '../kube/status-error.ts'
import { ClientGoneError } from '../http/body-writer.ts'
import type { Clock } from '../util/clock.ts'

/** What ends a request that nothing else ends. */
export interface Ending {
  /** Calls back once, at once where it is over already. Returns how to be forgotten. */
  onEnd(end: (reason: unknown) => void): () => void
}

/** Requests that end by themselves. */
export const BY_ITSELF: Ending = { onEnd: () => () => undefined }

/** Ends with a signal. */
export function endingWith(signal: AbortSignal): Ending {
  return {
    onEnd(end) {
      const onAbort = (): void => {
        end(signal.reason)
      }
      if (signal.aborted) onAbort()
      signal.addEventListener('abort', onAbort, { once: true })
      return () => {
        signal.removeEventListener('abort', onAbort)
      }
    },
  }
}

export interface LifetimeOptions {
  readonly response: ServerResponse
  readonly ending: Ending
  /** 0: none. */
  readonly timeoutMs: number
  readonly clock: Clock
}

export class Lifetime {
  readonly #controller = new AbortController()
  /** Undefined without a time-out: what lasts is many at once, and each costs memory. */
  readonly #expiry: PromiseWithResolvers<never> | undefined
  readonly #end: () => void

  constructor({ response, ending, timeoutMs, clock }: LifetimeOptions) {
    this.#expiry = timeoutMs === 0 ? undefined : Promise.withResolvers<never>()
    this.#expiry?.promise.catch(() => undefined) // whoever races it hears of it
    const onClose = (): void => {
      this.#controller.abort(new ClientGoneError())
    }
    const cancel = timeoutMs === 0 ? () => undefined : clock.setTimeout(() => this.#expire(), timeoutMs)
    response.once('close', onClose)
    const forget = ending.onEnd((reason) => {
      this.#controller.abort(reason)
    })
    this.#end = () => {
      cancel()
      response.off('close', onClose)
      forget()
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Rejects with a `timeout` when the time is up before the work is done, whatever the work is waiting for. */
  bound<T>(work: Promise<T>): Promise<T> {
    return this.#expiry === undefined ? work : Promise.race([work, this.#expiry.promise])
  }

  end(): void {
    this.#end()
  }

  #expire(): void {
    const error = new StatusError('timeout', 'the request took too long')
    this.#expiry?.reject(error)
    this.#controller.abort(error)
  }
}

/**
 * The time a request has: `?timeout=` where that is shorter. Throws `badRequest` for one that is no duration.
 * Source: apiserver pkg/endpoints/filters/request_deadline.go.
 */
export function timeoutOf(query: URLSearchParams, limitMs: number): number {
  const text = query.get('timeout') ?? ''
  if (text === '') return limitMs
  const wanted = parseGoDuration(text)
  if (wanted === undefined || wanted < 0) throw badRequest('invalid timeout specified in the request URL')
  if (wanted === 0) return limitMs
  return limitMs === 0 ? wanted : Math.min(wanted, limitMs)
}

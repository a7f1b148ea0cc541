/**
 * Which requests are open, and how they end when the server stops. As in a generic API server: from some moment on new
 * ones are refused, those under way are waited for, and watches end one after another, so that their clients do not come
 * to the other replicas all at once. Unlike there a watch brings events until its turn comes.
 * Source: apiserver pkg/server/filters/with_retry_after.go, pkg/server/genericapiserver.go (`RunWithContext`).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { StatusError } from '../kube/status-error.ts'
import type { Clock } from '../util/clock.ts'
import { sendAway } from './goaway.ts'
import type { Ending } from './lifetime.ts'

/** Health probes and scrapes are answered to the end, and whoever asks on behalf of a kube-apiserver itself. */
const EXEMPT_PATHS = ['/readyz', '/livez', '/healthz', '/metrics']
const EXEMPT_AGENT = 'kube-apiserver/'

const RETRY_AFTER_SECONDS = 5

/** Watches a second that end at least. */
const MIN_RATE = 200
const STEP_MS = 5

export class OpenRequests {
  readonly watches = new OpenWatches()
  #refusing = false
  #open = 0
  #drained: (() => void) | undefined

  /** From now on new requests get 429. */
  refuse(): void {
    this.#refusing = true
  }

  /** Throws 429 for a request that comes too late; before its identity is asked for. */
  admit(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#refusing || isExempt(request)) return
    sendAway(response)
    throw new StatusError('tooManyRequests', 'The apiserver is shutting down, please try again later.', {
      details: { retryAfterSeconds: RETRY_AFTER_SECONDS },
    })
  }

  /** A request that does not last by nature begins; returns what to call at its end. Those exempt are not waited for. */
  enter(request: IncomingMessage): () => void {
    if (isExempt(request)) return () => undefined
    this.#open += 1
    return () => {
      this.#open -= 1
      if (this.#open === 0) this.#drained?.()
    }
  }

  get open(): number {
    return this.#open
  }

  /** Resolves as soon as none of those that do not last is open. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#open === 0) resolve()
      else this.#drained = resolve
    })
  }
}

export class OpenWatches implements Ending {
  readonly #ends = new Set<(reason: unknown) => void>()
  #stopping = false

  get open(): number {
    return this.#ends.size
  }

  /** One that begins while the others end, ends at once. */
  onEnd(end: (reason: unknown) => void): () => void {
    if (this.#stopping) end(stopped())
    this.#ends.add(end)
    return () => void this.#ends.delete(end)
  }

  /** Ends all of them, the oldest first, evenly over `graceMs` but at least `MIN_RATE` a second; 0: at once. */
  async end(graceMs: number, clock: Clock): Promise<void> {
    this.#stopping = true
    const left = [...this.#ends]
    const perSecond = Math.max(MIN_RATE, left.length / (graceMs / 1_000))
    const perStep = graceMs === 0 ? left.length : Math.ceil((perSecond * STEP_MS) / 1_000)
    for (let at = 0; at < left.length; at += perStep) {
      if (at > 0) await new Promise<void>((resolve) => void clock.setTimeout(resolve, STEP_MS))
      // One whose client left meanwhile hears nothing any more.
      for (const end of left.slice(at, at + perStep)) if (this.#ends.has(end)) end(stopped())
    }
  }
}

function stopped(): Error {
  return new ServerStopping()
}

/** Why what lasts was ended. */
export class ServerStopping extends Error {
  constructor() {
    super('shutting down')
    this.name = 'ServerStopping'
  }
}

function isExempt({ url = '', headers }: IncomingMessage): boolean {
  return headers['user-agent']?.startsWith(EXEMPT_AGENT) === true || EXEMPT_PATHS.some((path) => url.startsWith(path))
}

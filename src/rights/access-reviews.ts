/**
 * SubjectAccessReviews: what a server itself says of somebody's rights. Answers are remembered for some seconds, equal
 * questions at the same time are asked once, different ones are bounded for each server.
 */
import { LRUCache } from 'lru-cache'
import type { MemberClient } from '../fleet/member.ts'
import type { Clock } from '../util/clock.ts'

/** As a SubjectAccessReview's spec names them. */
export interface ReviewSubject {
  readonly user: string
  readonly groups: readonly string[]
  readonly uid?: string
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

export interface ReviewAttributes {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
}

export interface ReviewServer {
  /** Tells servers apart in what is remembered: another one, even of the same name, has another key. */
  readonly key: string
  readonly client: Pick<MemberClient, 'request'>
  /** The server leaves: its reviews end. */
  readonly signal: AbortSignal
}

export interface AccessReviewsOptions {
  readonly clock: Clock
  /** As `--authorization-webhook-cache-authorized-ttl` and `-unauthorized-ttl`. */
  readonly allowedTtlMs: number
  readonly deniedTtlMs: number
  readonly counted?: (outcome: 'allowed' | 'denied' | 'failed') => void
}

const PATH = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
/** A review that takes longer is no answer. */
const TIMEOUT_MS = 10_000
const BODY_BYTES = 1024 * 1024
/** About 0.5 KB each. */
const MAX_DECISIONS = 32_768
/** Of one server at once: whoever floods us must not flood it. */
const MAX_PENDING = 256

/** No answer: the caller is refused. `message` is short and fit to show. */
export class ReviewError extends Error {
  /** The server's HTTP status; undefined where it did not answer, or its answer made no sense. */
  readonly http: number | undefined

  constructor(message: string, options: { readonly http?: number; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ReviewError'
    this.http = options.http
  }
}

export class AccessReviews {
  readonly #options: AccessReviewsOptions
  readonly #decisions: LRUCache<string, boolean>
  readonly #pending = new Map<string, Map<string, Promise<boolean>>>()

  constructor(options: AccessReviewsOptions) {
    this.#options = options
    this.#decisions = new LRUCache<string, boolean>({
      max: MAX_DECISIONS,
      // lru-cache takes a start of 0 for none.
      perf: { now: () => options.clock.monotonicMs() + 1 },
      ttlResolution: 0,
    })
  }

  /** Rejects with `ReviewError`, or with the signal's reason: the question may be shared, so that only the wait ends. */
  async allowed(
    server: ReviewServer,
    subject: ReviewSubject,
    subjectKey: string,
    attributes: ReviewAttributes,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { verb, group, resource, subresource, namespace, name } = attributes
    const key = [server.key, subjectKey, verb, group, resource, subresource, namespace, name].join('\u0000')
    const known = this.#decisions.get(key)
    if (known !== undefined) return known
    signal.throwIfAborted()
    return waitFor(this.#join(server, key, subject, attributes), signal)
  }

  #join(server: ReviewServer, key: string, subject: ReviewSubject, attributes: ReviewAttributes): Promise<boolean> {
    const pending = this.#pendingOf(server)
    const asked = pending.get(key)
    if (asked !== undefined) return asked
    if (pending.size >= MAX_PENDING) return Promise.reject(new ReviewError('too many questions at once'))
    const answer = this.#ask(server, key, subject, attributes).finally(() => {
      pending.delete(key)
      if (pending.size === 0) this.#pending.delete(server.key)
    })
    pending.set(key, answer)
    return answer
  }

  async #ask(
    server: ReviewServer,
    key: string,
    subject: ReviewSubject,
    attributes: ReviewAttributes,
  ): Promise<boolean> {
    const { allowedTtlMs, deniedTtlMs, counted } = this.#options
    try {
      const allowed = await post(server, { ...subject, resourceAttributes: attributes })
      const ttl = allowed ? allowedTtlMs : deniedTtlMs
      if (ttl > 0) this.#decisions.set(key, allowed, { ttl })
      counted?.(allowed ? 'allowed' : 'denied')
      return allowed
    } catch (error) {
      counted?.('failed')
      throw error
    }
  }

  #pendingOf({ key }: ReviewServer): Map<string, Promise<boolean>> {
    let pending = this.#pending.get(key)
    if (pending === undefined) this.#pending.set(key, (pending = new Map()))
    return pending
  }
}

async function post({ client, signal }: ReviewServer, spec: object): Promise<boolean> {
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
  const status = await postReview(client, PATH, review, signal)
  return status['allowed'] === true && status['denied'] !== true
}

/** The `status` of the answer to a review. Rejects with `ReviewError`. */
export async function postReview(
  client: ReviewServer['client'],
  path: string,
  review: object,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  let body: Buffer
  let code: number
  try {
    const answer = await client.request({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(review),
      headersTimeoutMs: TIMEOUT_MS,
      idleMs: TIMEOUT_MS,
      signal,
    })
    code = answer.status
    body = await answer.bytes(BODY_BYTES)
  } catch (cause) {
    throw new ReviewError('it does not answer', { cause })
  }
  if (code >= 300) throw new ReviewError(`it answers reviews with ${code}`, { http: code })
  const status = statusOf(body)
  if (status === undefined) throw new ReviewError('it gave no usable answer')
  return status
}

function statusOf(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const { status } = JSON.parse(body.toString('utf8')) as { status?: unknown }
    return typeof status === 'object' && status !== null ? (status as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Resolves as `promise`, or rejects as soon as the signal aborts. */
export function waitFor<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
    if (signal.aborted) onAbort()
  })
}

/** One request to a member under way: its own abort signal, its time-outs, and what an error means. */
import type { Readable } from 'node:stream'
import type { Clock } from '../util/clock.ts'
import { MemberError, toMemberError, type Target } from './member-error.ts'
import type { MemberRequest, MemberResponse } from './member.ts'
import { collect, readBody } from './response-body.ts'

const DEFAULT_HEADERS_TIMEOUT_MS = 30_000
const DEFAULT_IDLE_MS = 30_000
const DEFAULT_BODY_LIMIT = 64 * 1024 * 1024

export type CallOptions = Pick<MemberRequest, 'signal' | 'headersTimeoutMs' | 'idleMs' | 'raw'>

export class Call {
  readonly #request: CallOptions
  readonly #clock: Clock
  readonly #target: Target
  readonly #controller = new AbortController()
  readonly #cancelHeadTimer: () => void
  readonly #onAbort = (): void => {
    this.#controller.abort(this.#request.signal.reason)
  }

  constructor(request: CallOptions, clock: Clock, target: Target) {
    this.#request = request
    this.#clock = clock
    this.#target = target
    const limitMs = request.headersTimeoutMs ?? DEFAULT_HEADERS_TIMEOUT_MS
    const late = (): void => {
      this.#controller.abort(new MemberError('timeout', `${target.server}: no answer within ${limitMs} ms`))
    }
    this.#cancelHeadTimer = limitMs === 0 ? () => undefined : clock.setTimeout(late, limitMs)
    if (request.signal.aborted) this.#onAbort()
    else request.signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  end(): void {
    this.#cancelHeadTimer()
    this.#request.signal.removeEventListener('abort', this.#onAbort)
  }

  /** Who aborted is told its own reason; everything else is the member's fault. */
  fault(error: unknown): unknown {
    if (this.#request.signal.aborted) return this.#request.signal.reason
    const { reason } = this.#controller.signal as { reason: unknown }
    return toMemberError(reason ?? error, this.#target)
  }

  answer(status: number, headers: MemberResponse['headers'], raw: Readable): MemberResponse {
    this.#cancelHeadTimer()
    raw.on('error', () => undefined) // also told to whoever reads; without a reader it must not be thrown
    const { 'content-encoding': encoding, 'content-length': length, ...rest } = headers
    const gzip = encoding === 'gzip' && this.#request.raw !== true
    const body = readBody(raw, {
      gzip,
      idleMs: this.#request.idleMs ?? DEFAULT_IDLE_MS,
      clock: this.#clock,
      fault: (error) => this.fault(error),
      released: () => {
        this.end()
      },
    })
    return {
      status,
      headers: gzip
        ? rest
        : {
            ...rest,
            ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
            ...(length === undefined ? {} : { 'content-length': length }),
          },
      body,
      bytes: (limit = DEFAULT_BODY_LIMIT) => collect(body, limit),
    }
  }
}

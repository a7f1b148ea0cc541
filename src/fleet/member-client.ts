/**
 * The agent of one member: every request to its API goes through here, limited in rate, with credentials that may change
 * under way, and with one kind of error.
 */
import { Readable } from 'node:stream'
import type { Clock } from '../util/clock.ts'
import { Connections, type ProxySettings } from './connections.ts'
import { sameHeaders, sameTls, type CredentialSource, type Credentials } from './credentials.ts'
import { MemberError, isMemberError, toMemberError, type Target } from './member-error.ts'
import type { MemberClient, MemberRequest, MemberResponse } from './member.ts'
import { redactUrl } from './redact.ts'
import { collect, readBody } from './response-body.ts'
import { TokenBucket } from './token-bucket.ts'

export interface MemberClientOptions {
  /** `https://host:6443`, with a path prefix where the API has one. */
  readonly server: string
  readonly credentials: CredentialSource
  readonly proxy?: ProxySettings
  /** Requests a second, and at once; defaults 40 and 60 (`--cluster-api-qps`, `--cluster-api-burst`). 0: no limit. */
  readonly qps?: number
  readonly burst?: number
  /** Ask for gzip; default true. */
  readonly compress?: boolean
  /** Default `fleetsearch`. */
  readonly userAgent?: string
  readonly clock: Clock
}

const PROXY_PROTOCOLS = ['http:', 'https:', 'socks:', 'socks4:', 'socks4a:', 'socks5:', 'socks5h:']
const DEFAULT_HEADERS_TIMEOUT_MS = 30_000
const DEFAULT_IDLE_MS = 30_000
const DEFAULT_BODY_LIMIT = 64 * 1024 * 1024
/** Single failures among successes are no outage; whoever met one keeps to its own backoff. */
const OUTAGE_MS = 2_000
const REJECTION_BODY_LIMIT = 1024 * 1024 // of an answer that is read only to free its connection

/** Throws a MemberError of code `unreachable` where `server` or the proxy's URL cannot be used. */
export function createMemberClient(options: MemberClientOptions): MemberClient {
  return new HttpMemberClient(options)
}

/** Stands for a member that nothing says how to reach: every request fails with `reason`, without any network. */
export function unreachableClient(reason: string): MemberClient {
  return {
    request: () => Promise.reject(new MemberError('unreachable', reason)),
    close: () => Promise.resolve(),
  }
}

class HttpMemberClient implements MemberClient {
  readonly #options: MemberClientOptions
  readonly #origin: string
  readonly #prefix: string
  readonly #target: Target
  readonly #limiter: TokenBucket
  readonly #connections: Connections
  readonly #recovered = new Set<() => void>()
  /** Since when every request has failed; undefined while the member answers. */
  #failingSinceMs: number | undefined
  #closed = false

  constructor(options: MemberClientOptions) {
    const server = serverUrl(options.server, ['http:', 'https:'])
    if (options.proxy !== undefined) serverUrl(options.proxy.url, PROXY_PROTOCOLS)
    this.#options = options
    this.#origin = server.origin
    this.#prefix = server.pathname.replace(/\/+$/, '')
    this.#target = {
      server: redactUrl(options.server),
      proxy: options.proxy === undefined ? undefined : redactUrl(options.proxy.url),
    }
    this.#limiter = new TokenBucket(options.qps ?? 40, options.burst ?? 60, options.clock)
    this.#connections = new Connections(options.proxy)
    options.credentials.onChange?.(() => {
      this.#notifyRecovery()
    })
  }

  onRecovery(listener: () => void): () => void {
    this.#recovered.add(listener)
    return () => {
      this.#recovered.delete(listener)
    }
  }

  close(): Promise<void> {
    this.#closed = true
    return this.#connections.close()
  }

  async request(request: MemberRequest): Promise<MemberResponse> {
    await this.#limiter.acquire(request.signal)
    try {
      const response = await this.#authenticated(request)
      this.#answered(response.status)
      return response
    } catch (error) {
      if (isMemberError(error)) this.#failingSinceMs ??= this.#options.clock.monotonicMs()
      throw error
    }
  }

  /** Once more where the member said 401 and the source has other credentials now: a 401 has not been executed. */
  async #authenticated(request: MemberRequest): Promise<MemberResponse> {
    const { credentials } = this.#options
    const used = await credentials.current()
    const response = await this.#sendTwice(request, used)
    if (response.status !== 401 || credentials.rejected === undefined || request.body instanceof Readable)
      return response
    credentials.rejected()
    const fresh = await credentials.current()
    if (sameHeaders(used.headers, fresh.headers) && sameTls(used.tls, fresh.tls)) return response
    await response.bytes(REJECTION_BODY_LIMIT)
    return this.#send(request, fresh)
  }

  /** A read whose pooled connection turns out to be dead is sent again once, on another one. */
  async #sendTwice(request: MemberRequest, credentials: Credentials): Promise<MemberResponse> {
    try {
      return await this.#send(request, credentials)
    } catch (error) {
      const read = request.method === 'GET' || request.method === 'HEAD'
      if (!read || this.#closed || !isMemberError(error, 'closed') || request.signal.aborted) throw error
      return await this.#send(request, credentials)
    }
  }

  async #send(request: MemberRequest, credentials: Credentials): Promise<MemberResponse> {
    if (this.#closed) throw new MemberError('closed', `${this.#target.server}: this client is closed`)
    const call = new Call(request, this.#options.clock, this.#target)
    try {
      const { statusCode, headers, body } = await this.#connections.dispatcher(credentials.tls).request({
        origin: this.#origin,
        path: this.#prefix + request.path,
        method: request.method as 'GET',
        headers: this.#headers(request, credentials),
        ...(request.body === undefined ? {} : { body: request.body }),
        signal: call.signal,
      })
      return call.answer(statusCode, headers, body)
    } catch (error) {
      call.end()
      throw call.fault(error)
    }
  }

  #headers(request: MemberRequest, credentials: Credentials): Record<string, string | string[]> {
    return {
      accept: 'application/json',
      ...(this.#options.compress === false || request.raw === true ? {} : { 'accept-encoding': 'gzip' }),
      'user-agent': this.#options.userAgent ?? 'fleetsearch',
      ...request.headers,
      ...credentials.headers,
    }
  }

  #answered(status: number): void {
    const nowMs = this.#options.clock.monotonicMs()
    if (status === 401 || status >= 500) {
      this.#failingSinceMs ??= nowMs
      return
    }
    const outageMs = this.#failingSinceMs === undefined ? 0 : nowMs - this.#failingSinceMs
    this.#failingSinceMs = undefined
    if (outageMs >= OUTAGE_MS) this.#notifyRecovery()
  }

  #notifyRecovery(): void {
    for (const listener of [...this.#recovered]) listener()
  }
}

/** One request under way: its own abort signal, its time-outs, and what an error means. */
class Call {
  readonly #request: MemberRequest
  readonly #clock: Clock
  readonly #target: Target
  readonly #controller = new AbortController()
  readonly #cancelHeadTimer: () => void
  readonly #onAbort = (): void => {
    this.#controller.abort(this.#request.signal.reason)
  }

  constructor(request: MemberRequest, clock: Clock, target: Target) {
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

function serverUrl(text: string, protocols: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && protocols.includes(url.protocol)) return url
  throw new MemberError('unreachable', `${redactUrl(text)} is not a URL of ${protocols.join(' or ')}`)
}

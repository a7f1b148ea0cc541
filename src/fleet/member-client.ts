/**
 * The agent of one member: every request to its API goes through here, limited in rate, with credentials that may change
 * under way, and with one kind of error.
 */
import { Readable } from 'node:stream'
import { traceClient, tracedPath, traceHeaders } from '../telemetry/tracing.ts'
import type { Clock } from '../util/clock.ts'
import { Call, type CallOptions } from './call.ts'
import { Connections, type ProxySettings } from './connections.ts'
import { sameHeaders, sameTls, type CredentialSource, type Credentials } from './credentials.ts'
import { MemberError, isMemberError, type Target } from './member-error.ts'
import type { MemberClient, MemberRequest, MemberResponse, MemberUpgrade, SwitchedProtocols } from './member.ts'
import { redactUrl } from './redact.ts'
import { TokenBucket } from './token-bucket.ts'
import { dispatchUpgrade } from './upgrade.ts'

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
    upgrade: () => Promise.reject(new MemberError('unreachable', reason)),
    close: () => Promise.resolve(),
  }
}

/** What decides on the next step, of either kind of answer. */
type Answer = Pick<MemberResponse, 'status'> & Partial<Pick<MemberResponse, 'bytes'>>
type Sent = Pick<MemberRequest, 'method' | 'path' | 'signal' | 'body'>
type Send<A> = (credentials: Credentials) => Promise<A>

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

  request(request: MemberRequest): Promise<MemberResponse> {
    return this.#traced(request, (credentials) => this.#sendTwice(request, credentials))
  }

  /** Never sent twice: a member that broke off may have begun what was asked for. */
  upgrade(request: MemberUpgrade): Promise<SwitchedProtocols | MemberResponse> {
    return this.#traced(request, (credentials) => this.#sendUpgrade(request, credentials))
  }

  /** A trace shows it until the head of the answer is there, the wait for a turn included. */
  #traced<A extends Answer>(request: Sent, send: Send<A>): Promise<A> {
    const { method, path } = request
    const start = () => ({
      name: method,
      attributes: { 'http.request.method': method, 'url.full': this.#target.server + tracedPath(path) },
    })
    return traceClient(start, async (span) => {
      const answer = await this.#limited(request, send)
      span.set({ 'http.response.status_code': answer.status })
      if (answer.status >= 400) span.fail(String(answer.status))
      return answer
    })
  }

  async #limited<A extends Answer>(request: Sent, send: Send<A>): Promise<A> {
    await this.#limiter.acquire(request.signal)
    try {
      const response = await this.#authenticated(request, send)
      this.#answered(response.status)
      return response
    } catch (error) {
      if (isMemberError(error)) this.#failingSinceMs ??= this.#options.clock.monotonicMs()
      throw error
    }
  }

  /** Once more where the member said 401 and the source has other credentials now: a 401 has not been executed. */
  async #authenticated<A extends Answer>({ body }: Sent, send: Send<A>): Promise<A> {
    const { credentials } = this.#options
    const used = await credentials.current()
    const response = await send(used)
    if (response.status !== 401 || credentials.rejected === undefined || body instanceof Readable) return response
    credentials.rejected()
    const fresh = await credentials.current()
    if (sameHeaders(used.headers, fresh.headers) && sameTls(used.tls, fresh.tls)) return response
    await response.bytes?.(REJECTION_BODY_LIMIT)
    return send(fresh)
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
    const call = this.#call(request)
    try {
      const { statusCode, headers, body } = await this.#connections.dispatcher(credentials.tls).request({
        origin: this.#origin,
        path: this.#prefix + request.path || '/',
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

  async #sendUpgrade(request: MemberUpgrade, credentials: Credentials): Promise<SwitchedProtocols | MemberResponse> {
    const call = this.#call({ ...request, raw: true })
    try {
      const dispatcher = this.#connections.dispatcher(credentials.tls)
      const answer = await dispatchUpgrade(dispatcher, {
        origin: this.#origin,
        path: this.#prefix + request.path,
        method: request.method,
        protocol: request.protocol,
        headers: { ...request.headers, ...credentials.headers },
        signal: call.signal,
      })
      if (!('socket' in answer)) return call.answer(answer.status, answer.headers, answer.body)
      call.end()
      return answer
    } catch (error) {
      call.end()
      throw call.fault(error)
    }
  }

  #call(options: CallOptions): Call {
    if (this.#closed) throw new MemberError('closed', `${this.#target.server}: this client is closed`)
    return new Call(options, this.#options.clock, this.#target)
  }

  #headers(request: MemberRequest, credentials: Credentials): Record<string, string | string[]> {
    return {
      accept: 'application/json',
      ...(this.#options.compress === false || request.raw === true ? {} : { 'accept-encoding': 'gzip' }),
      'user-agent': this.#options.userAgent ?? 'fleetsearch',
      ...request.headers,
      ...traceHeaders(),
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

function serverUrl(text: string, protocols: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && protocols.includes(url.protocol)) return url
  throw new MemberError('unreachable', `${redactUrl(text)} is not a URL of ${protocols.join(' or ')}`)
}

/** One request on its way: guard, identity, impersonation, a place in flight, rights, route, and what is left behind of it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiHandler, ApiRequest, UserInfo } from '../http/api-request.ts'
import { ClientGoneError } from '../http/body-writer.ts'
import { cutOff, isGone } from '../http/connection.ts'
import { forbidden } from '../http/forbidden.ts'
import { sendStatus, statusOf } from '../http/status-response.ts'
import { badRequest, isStatusError, StatusError } from '../kube/status-error.ts'
import type { Span, SpanStart } from '../telemetry/tracing.ts'
import { ANONYMOUS } from './authn/authenticator.ts'
import { impersonate } from './authn/impersonation.ts'
import { MASTERS } from './authz/subject-access-review.ts'
import type { RequestAudit } from './audit/auditor.ts'
import type { ListenerOptions } from './listener-options.ts'
import type { Route } from './route.ts'
import type { InFlight, RequestKind } from './in-flight.ts'
import { BY_ITSELF, endingWith, Lifetime, timeoutOf, type Ending } from './lifetime.ts'
import { lingerAfter } from './linger.ts'
import { ServerStopping, type OpenRequests } from './open-requests.ts'
import type { OutageLog } from './outage-log.ts'
import { lasting, requestAttributes, type Lasting, type RequestAttributes } from './request-info.ts'
import { spanOf } from './request-span.ts'
import { UpgradeResponse } from './upgrade.ts'

/** Longest path and query taken. */
const MAX_URL = 48 * 1024
/** Largest body taken, as in a kube-apiserver. */
const MAX_BODY = 3 * 1024 * 1024

/** Aborts never. */
const NEVER = new AbortController().signal

/** One request and its answer. */
export class Exchange {
  readonly #options: ListenerOptions
  readonly #routeOf: (path: string) => Route
  readonly #inFlight: InFlight
  readonly #open: OpenRequests
  readonly #outages: OutageLog
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #startedMs: number
  readonly #method: string
  readonly #path: string
  readonly #rawQuery: string
  readonly #query: URLSearchParams
  #attributes: RequestAttributes
  #kind: RequestKind
  #lasting: Lasting | undefined
  #leave: (() => void) | undefined
  #route: Route | undefined
  #audit: RequestAudit | undefined

  constructor(
    options: ListenerOptions,
    routeOf: (path: string) => Route,
    inFlight: InFlight,
    open: OpenRequests,
    outages: OutageLog,
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    this.#options = options
    this.#routeOf = routeOf
    this.#inFlight = inFlight
    this.#open = open
    this.#outages = outages
    this.#request = request
    this.#response = response
    this.#startedMs = options.clock.monotonicMs()
    this.#method = request.method ?? 'GET'
    const { path, rawQuery } = splitUrl(request.url ?? '/')
    this.#path = path
    this.#rawQuery = rawQuery
    this.#query = new URLSearchParams(rawQuery)
    this.#attributes = { isResource: false, verb: this.#method.toLowerCase(), path }
    this.#kind = isRead(this.#method) ? 'readOnly' : 'mutating'
  }

  traced(): SpanStart {
    return spanOf(this.#request, this.#path, this.#routeOf(this.#path).prefix)
  }

  /** Never rejects. */
  async run(span: Span): Promise<void> {
    if (this.#begin()) {
      try {
        await this.#answer()
      } catch (error) {
        this.#fail(error)
      }
    }
    this.#ended(span)
  }

  /** False for what is refused at once. */
  #begin(): boolean {
    let refused: unknown
    try {
      for (const [name, value] of Object.entries(this.#options.headers ?? {})) this.#response.setHeader(name, value)
      this.#dismiss()
      this.#look()
    } catch (error) {
      refused = error
    }
    this.#options.metrics.started(this.#kind)
    if (this.#lasting === undefined) this.#leave = this.#open.enter(this.#request)
    if (refused !== undefined) this.#fail(refused)
    return refused === undefined
  }

  /** Over HTTP/1.1 a connection that ends by itself is not cut under a request. HTTP/2 has GOAWAY for that. */
  #dismiss(): void {
    const { signal, draining = signal } = this.#options
    if (draining.aborted && this.#request.httpVersionMajor === 1) {
      this.#response.setHeader('connection', 'close')
    }
  }

  /** What is asked for. Throws for requests that cannot be read in one way. */
  #look(): void {
    this.#open.admit(this.#request, this.#response)
    this.#options.guard?.(this.#request)
    if (this.#request.httpVersionMajor < 1) throw badRequest('HTTP/0.9 is not spoken here')
    if ((this.#request.url ?? '').length > MAX_URL) throw badRequest(`the URL is longer than ${MAX_URL} bytes`)
    this.#attributes = requestAttributes(this.#method, this.#path, this.#query)
    this.#lasting = lasting(this.#attributes, this.#path, this.#query)
    if (this.#lasting !== undefined) this.#kind = 'watch'
  }

  async #answer(): Promise<void> {
    if (this.#options.cors?.(this.#request, this.#response) === true) return
    const caller = await this.#identify()
    const leave = this.#inFlight.enter(this.#kind, caller.groups.includes(MASTERS))
    let user: UserInfo
    let timeoutMs: number
    try {
      user = await this.#admit(caller)
      timeoutMs = this.#kind === 'watch' ? 0 : timeoutOf(this.#query, this.#options.requestTimeoutMs)
      if (this.#kind !== 'watch') refuseLargeBody(this.#request)
    } catch (error) {
      leave()
      throw error
    }
    // Not awaited here: a watch is held by as few functions as can be.
    return this.#handle(user, timeoutMs, leave)
  }

  /** Throws 401 where there is no identity and the path needs one. */
  async #identify(): Promise<UserInfo> {
    const { authenticate, alwaysAllowPaths, audit } = this.#options
    let user: UserInfo | undefined
    try {
      user = await authenticate(this.#request)
      if (user === undefined && !isAlwaysAllowed(this.#path, alwaysAllowPaths)) {
        throw new StatusError('unauthorized', 'Unauthorized')
      }
    } finally {
      this.#audit = await audit?.begin({
        request: this.#request,
        response: this.#response,
        method: this.#method,
        path: this.#path,
        attributes: this.#attributes,
        user: user ?? (isAlwaysAllowed(this.#path, alwaysAllowPaths) ? ANONYMOUS : undefined),
        lasts: this.#kind === 'watch',
      })
    }
    return user ?? ANONYMOUS
  }

  /** Who the request goes on as. Throws 403; a failure to decide refuses (fail closed). */
  async #admit(caller: UserInfo): Promise<UserInfo> {
    const { authorize, alwaysAllowPaths } = this.#options
    const signal = this.#stops
    const user = await impersonate(caller, this.#request, authorize, signal)
    if (user !== caller) this.#audit?.impersonated(user)
    if (isAlwaysAllowed(this.#path, alwaysAllowPaths)) return user
    const decision = await authorize(user, this.#attributes, signal)
    this.#audit?.decided(decision)
    if (!decision.allowed) throw forbidden(user, this.#attributes, decision.reason)
    return user
  }

  /** The place in flight is left when the handler is through, even where its client was told of a timeout before. */
  async #handle(user: UserInfo, timeoutMs: number, leave: () => void): Promise<void> {
    const { clock, minWatchSeconds } = this.#options
    const route = this.#routeOf(this.#path)
    this.#route = route
    const lifetime = new Lifetime({ response: this.#response, ending: this.#ending, timeoutMs, clock })
    const request: ApiRequest = {
      method: this.#method,
      path: this.#path.slice(route.prefix.length),
      rawQuery: this.#rawQuery,
      query: this.#query,
      user,
      signal: lifetime.signal,
      ...(minWatchSeconds === undefined ? {} : { minWatchSeconds }),
      incoming: this.#request,
      annotate: (key, value) => this.#audit?.annotate(key, value),
      ...(this.#response instanceof UpgradeResponse ? { upgrade: this.#response } : {}),
    }
    try {
      await lifetime.bound(handleWith(route.handler, request, this.#response, leave))
    } finally {
      lifetime.end()
    }
  }

  /** What ends by itself is let end; streams would hold up the stop. */
  get #stops(): AbortSignal {
    return this.#kind === 'watch' ? this.#options.signal : NEVER
  }

  get #ending(): Ending {
    if (this.#lasting === 'watch') return this.#open.watches
    return this.#lasting === undefined ? BY_ITSELF : endingWith(this.#options.signal)
  }

  #fail(error: unknown): void {
    const response = this.#response
    if (error instanceof ClientGoneError || isGone(response)) return cutOff(response)
    const isStopping = error instanceof ServerStopping || this.#options.signal.aborted
    if (isStopping && !isStatusError(error)) error = shuttingDown()
    if (!isStatusError(error) || error.code === 'internal') this.#fault(error)
    else if (error.cause !== undefined) this.#outages.failed(error)
    // Half an answer must not look like a whole one: the connection is cut.
    if (response.headersSent) return cutOff(response)
    const status = statusOf(error)
    this.#audit?.failed(status)
    lingerAfter(this.#request, response, this.#options.clock)
    sendStatus(response, status, { errorField: this.#route?.errorField === true })
  }

  #fault(err: unknown): void {
    this.#options.metrics.fault()
    this.#options.log.error({ err, method: this.#method, attributes: this.#attributes }, 'request failed')
  }

  #ended(span: Span): void {
    const { metrics, log, clock } = this.#options
    const attributes = this.#attributes
    const seconds = (clock.monotonicMs() - this.#startedMs) / 1000
    const code = this.#response.statusCode
    span.set({ 'http.response.status_code': code })
    if (code >= 500) span.fail(String(code))
    const resource = attributes.isResource ? attributes.resource : ''
    const subresource = attributes.isResource ? attributes.subresource : ''
    const verb = this.#kind === 'watch' ? 'watch' : attributes.verb
    metrics.ended(this.#kind, { verb, resource, subresource }, code, seconds)
    this.#audit?.ended()
    this.#leave?.()
    const { httpVersion: http } = this.#request
    log.debug({ http, method: this.#method, path: this.#path, code, seconds }, 'request')
  }
}

async function handleWith(
  handler: ApiHandler,
  request: ApiRequest,
  response: ServerResponse,
  leave: () => void,
): Promise<void> {
  try {
    await handler(request, response)
  } finally {
    leave()
  }
}

function splitUrl(url: string): { path: string; rawQuery: string } {
  const at = url.indexOf('?')
  return at === -1 ? { path: url, rawQuery: '' } : { path: url.slice(0, at), rawQuery: url.slice(at + 1) }
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}

function refuseLargeBody({ headers }: IncomingMessage): void {
  if (Number(headers['content-length'] ?? 0) <= MAX_BODY) return
  throw new StatusError('requestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY}`)
}

function isAlwaysAllowed(path: string, allowed: readonly string[]): boolean {
  return allowed.some((entry) => (entry.endsWith('*') ? path.startsWith(entry.slice(0, -1)) : path === entry))
}

function shuttingDown(): StatusError {
  return new StatusError('serviceUnavailable', 'the server is shutting down', { details: { retryAfterSeconds: 1 } })
}

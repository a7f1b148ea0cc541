/**
 * The way of every request: guard, identity, rights, in-flight limit, route. Resource paths are answered by plain handlers
 * ahead of express, which does not run on HTTP/2 and costs time on hot paths; express serves the rest (create-app.ts).
 * Never listens by itself: tests call it with a server of their own.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { ApiHandler, UserInfo } from '../http/api-request.ts'
import { ClientGoneError } from '../http/body-writer.ts'
import { sendStatus, statusOf } from '../http/status-response.ts'
import { isStatusError, StatusError } from '../kube/status-error.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock } from '../util/clock.ts'
import type { Authenticator } from './authn/authenticator.ts'
import type { Authorizer } from './authz/authorizer.ts'
import { requestAttributes, type RequestAttributes } from './request-info.ts'
import type { RequestMetrics } from './request-metrics.ts'

export interface Route {
  /** Matches this path and everything below it. The longest matching prefix wins. */
  readonly prefix: string
  readonly handler: ApiHandler
  /** Errors repeat their message in a top-level `error` (contract of search/…). */
  readonly errorField?: boolean
}

export interface ListenerOptions {
  readonly routes: readonly Route[]
  /** Everything that matches no route. */
  readonly fallback: (request: IncomingMessage, response: ServerResponse) => void
  /** Throws `StatusError` to refuse a request before anything else is looked at. */
  readonly guard?: (request: IncomingMessage) => void
  readonly authenticate: Authenticator
  readonly authorize: Authorizer
  /** Paths that need neither identity nor rights; `/x/*` covers what is below. */
  readonly alwaysAllowPaths: readonly string[]
  /** Requests at once, watches apart; 0: no limit. */
  readonly maxInflight: number
  /** For everything that is no watch; 0: none. */
  readonly requestTimeoutMs: number
  readonly metrics: RequestMetrics
  readonly log: Logger
  readonly clock: Clock
  /** The server stops: streams end. */
  readonly signal: AbortSignal
}

const ANONYMOUS: UserInfo = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} }

/** Longest path and query taken; a kube-apiserver's own headers limit is far below. */
const MAX_URL = 48 * 1024

export function createListener(options: ListenerOptions): RequestListener {
  const routes = [...options.routes].sort((a, b) => b.prefix.length - a.prefix.length)
  const state = { inflight: 0 }
  return (request, response) => {
    void new Exchange(options, routes, state, request, response).run()
  }
}

type Kind = 'readOnly' | 'mutating' | 'watch'

class Exchange {
  readonly #options: ListenerOptions
  readonly #routes: readonly Route[]
  readonly #state: { inflight: number }
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #startedMs: number
  #attributes: RequestAttributes = { isResource: false, verb: 'other', path: '' }
  #kind: Kind = 'readOnly'
  #route: Route | undefined

  constructor(
    options: ListenerOptions,
    routes: readonly Route[],
    state: { inflight: number },
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    this.#options = options
    this.#routes = routes
    this.#state = state
    this.#request = request
    this.#response = response
    this.#startedMs = options.clock.monotonicMs()
  }

  /** Never rejects. */
  async run(): Promise<void> {
    const { metrics } = this.#options
    const { path, rawQuery } = splitUrl(this.#request.url ?? '/')
    const method = this.#request.method ?? 'GET'
    const query = new URLSearchParams(rawQuery)
    this.#attributes = requestAttributes(method, path, query)
    this.#kind = kindOf(method, query)
    metrics.started(this.#kind)
    try {
      await this.#answer(method, path, rawQuery, query)
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#ended()
    }
  }

  async #answer(method: string, path: string, rawQuery: string, query: URLSearchParams): Promise<void> {
    const { options, request, response } = { options: this.#options, request: this.#request, response: this.#response }
    if ((request.url ?? '').length > MAX_URL)
      throw new StatusError('badRequest', `the URL is longer than ${MAX_URL} bytes`)
    options.guard?.(request)
    const user = await this.#admit(path)
    this.#route = this.#routes.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))
    if (this.#route === undefined) return this.#fallBack()
    const { prefix, handler } = this.#route
    const release = this.#enter()
    const lifetime = this.#lifetime()
    try {
      const below = path.slice(prefix.length)
      await handler(
        { method, path: below, rawQuery, query, user, signal: lifetime.signal, incoming: request },
        response,
      )
    } catch (error) {
      throw lifetime.timedOut() ? new StatusError('timeout', 'the request took too long', { cause: error }) : error
    } finally {
      lifetime.end()
      release()
    }
  }

  /** Identity, then rights. Throws 401 or 403; a failure to decide refuses (fail closed). */
  async #admit(path: string): Promise<UserInfo> {
    const { authenticate, authorize, alwaysAllowPaths, signal } = this.#options
    const user = await authenticate(this.#request)
    if (isAlwaysAllowed(path, alwaysAllowPaths)) return user ?? ANONYMOUS
    if (user === undefined) throw new StatusError('unauthorized', 'Unauthorized')
    const decision = await authorize(user, this.#attributes, signal)
    if (!decision.allowed) throw forbidden(user, this.#attributes, decision.reason)
    return user
  }

  /** Takes a place among the requests in flight; watches take none. */
  #enter(): () => void {
    const { maxInflight } = this.#options
    if (this.#kind === 'watch') return () => undefined
    if (maxInflight > 0 && this.#state.inflight >= maxInflight) {
      throw new StatusError('tooManyRequests', 'Too many requests, please try again later.', {
        details: { retryAfterSeconds: 1 },
      })
    }
    this.#state.inflight += 1
    return () => {
      this.#state.inflight -= 1
    }
  }

  /** Ends when the client goes, the server stops, or the time of a request that is no watch is up. */
  #lifetime(): { signal: AbortSignal; timedOut(): boolean; end(): void } {
    const { requestTimeoutMs, clock, signal } = this.#options
    const controller = new AbortController()
    let timedOut = false
    const onClose = (): void => {
      controller.abort(new ClientGoneError())
    }
    const onStop = (): void => {
      controller.abort(signal.reason)
    }
    const cancel =
      this.#kind === 'watch' || requestTimeoutMs === 0
        ? () => undefined
        : clock.setTimeout(() => {
            timedOut = true
            controller.abort(new Error('request timeout'))
          }, requestTimeoutMs)
    this.#response.once('close', onClose)
    signal.addEventListener('abort', onStop, { once: true })
    if (signal.aborted) onStop()
    return {
      signal: controller.signal,
      timedOut: () => timedOut,
      end: () => {
        cancel()
        this.#response.off('close', onClose)
        signal.removeEventListener('abort', onStop)
      },
    }
  }

  async #fallBack(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#response.once('close', resolve)
    this.#options.fallback(this.#request, this.#response)
    await promise
  }

  #fail(error: unknown): void {
    const response = this.#response
    if (error instanceof ClientGoneError || response.destroyed) {
      response.destroy()
      return
    }
    if (this.#options.signal.aborted && !isStatusError(error)) error = shuttingDown()
    if (!isStatusError(error) || error.code === 'internal') this.#fault(error)
    // Half an answer must not look like a whole one: the connection is cut.
    if (response.headersSent) response.destroy()
    else sendStatus(response, statusOf(error), { errorField: this.#route?.errorField === true })
  }

  #fault(err: unknown): void {
    this.#options.metrics.fault()
    this.#options.log.error({ err, method: this.#request.method, attributes: this.#attributes }, 'request failed')
  }

  #ended(): void {
    const { metrics, log, clock } = this.#options
    const attributes = this.#attributes
    const seconds = (clock.monotonicMs() - this.#startedMs) / 1000
    const code = this.#response.statusCode
    const resource = attributes.isResource ? attributes.resource : ''
    const subresource = attributes.isResource ? attributes.subresource : ''
    metrics.ended(
      this.#kind,
      { verb: this.#kind === 'watch' ? 'watch' : attributes.verb, resource, subresource },
      code,
      seconds,
    )
    log.debug({ method: this.#request.method, path: splitUrl(this.#request.url ?? '').path, code, seconds }, 'request')
  }
}

function splitUrl(url: string): { path: string; rawQuery: string } {
  const at = url.indexOf('?')
  return at === -1 ? { path: url, rawQuery: '' } : { path: url.slice(0, at), rawQuery: url.slice(at + 1) }
}

function kindOf(method: string, query: URLSearchParams): Kind {
  const watch = query.get('watch')
  if (method === 'GET' && watch !== null && watch !== 'false' && watch !== '0') return 'watch'
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'readOnly' : 'mutating'
}

function isAlwaysAllowed(path: string, allowed: readonly string[]): boolean {
  return allowed.some((entry) => (entry.endsWith('/*') ? path.startsWith(entry.slice(0, -1)) : path === entry))
}

function shuttingDown(): StatusError {
  return new StatusError('serviceUnavailable', 'the server is shutting down', { details: { retryAfterSeconds: 1 } })
}

/** As a kube-apiserver words it. */
function forbidden(user: UserInfo, attributes: RequestAttributes, reason: string): StatusError {
  const why = reason === '' ? '' : `: ${reason}`
  if (!attributes.isResource) {
    const message = `forbidden: User ${JSON.stringify(user.name)} cannot ${attributes.verb} path ${JSON.stringify(attributes.path)}${why}`
    return new StatusError('forbidden', message, { details: {} })
  }
  const { group, resource, subresource, name, verb } = attributes
  const what = subresource === '' ? resource : `${resource}/${subresource}`
  const named = name === '' ? '' : ` ${JSON.stringify(name)}`
  const message =
    `${resource}.${group}${named} is forbidden: User ${JSON.stringify(user.name)} cannot ${verb} resource ` +
    `${JSON.stringify(what)} in API group ${JSON.stringify(group)} at the cluster scope${why}`
  return new StatusError('forbidden', message, { details: { group, kind: resource, ...(name === '' ? {} : { name }) } })
}

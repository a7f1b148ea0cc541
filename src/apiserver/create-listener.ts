/**
 * What a server is made with, and its requests (exchange.ts): plain handlers throughout, so that HTTP/1.1 and HTTP/2 are one.
 * Never listens by itself: tests call it with a server of their own.
 */
import type { IncomingMessage, RequestListener } from 'node:http'
import type { ApiHandler } from '../http/api-request.ts'
import type { Logger } from '../telemetry/logger.ts'
import { traceServer } from '../telemetry/tracing.ts'
import type { Clock } from '../util/clock.ts'
import type { Authenticator } from './authn/authenticator.ts'
import type { Authorizer } from './authz/authorizer.ts'
import type { Auditor } from './audit/auditor.ts'
import type { Cors } from './cors.ts'
import { Exchange } from './exchange.ts'
import { InFlight, type InFlightLimits } from './in-flight.ts'
import { OpenRequests } from './open-requests.ts'
import { OutageLog } from './outage-log.ts'
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
  /** Everything that matches no route. Its `path` is the whole one. */
  readonly fallback: ApiHandler
  /** Sees each request first, before anything of it is written down, and may change it. Must not throw. */
  readonly prepare?: (request: IncomingMessage) => void
  /** Throws `StatusError` to refuse a request before anything else is looked at. */
  readonly guard?: (request: IncomingMessage) => void
  readonly authenticate: Authenticator
  readonly authorize: Authorizer
  /** Paths that need neither identity nor rights; with a `*` at the end: what begins so. */
  readonly alwaysAllowPaths: readonly string[]
  readonly inFlight: InFlightLimits
  /** For everything that does not last by nature; 0: none. */
  readonly requestTimeoutMs: number
  /** Of watches whose client names no time (`ApiRequest.minWatchSeconds`). Default: 1,800. */
  readonly minWatchSeconds?: number
  /** Sent with every answer. */
  readonly headers?: Readonly<Record<string, string>>
  /** Which pages of others may read answers. Default: none. */
  readonly cors?: Cors
  readonly audit?: Auditor
  readonly metrics: RequestMetrics
  readonly log: Logger
  readonly clock: Clock
  /** Those that are open, for whoever stops the server. Default: nobody asks. */
  readonly requests?: OpenRequests
  /** The server will stop: clients should take their next requests elsewhere. Default: when it stops. */
  readonly draining?: AbortSignal
  /** The server stops: streams end (watches as `requests` says). */
  readonly signal: AbortSignal
}

export function createListener(options: ListenerOptions): RequestListener {
  const routes = [...options.routes].sort((a, b) => b.prefix.length - a.prefix.length)
  const fallback: Route = { prefix: '', handler: options.fallback }
  const inFlight = new InFlight(options.inFlight)
  const open = options.requests ?? openUntil(options)
  const outages = new OutageLog(options.log, options.clock)
  const routeOf = (path: string): Route =>
    routes.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`)) ?? fallback
  return (request, response) => {
    options.prepare?.(request)
    const exchange = new Exchange(options, routeOf, inFlight, open, outages, request, response)
    void traceServer(
      () => exchange.traced(),
      (span) => exchange.run(span),
    )
  }
}

/** Watches end all at once with the signal. */
function openUntil({ signal, clock }: ListenerOptions): OpenRequests {
  const open = new OpenRequests()
  const end = (): void => void open.watches.end(0, clock)
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
  return open
}

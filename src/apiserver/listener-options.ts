/** What a listener is made with: who may come in, what is answered, and what is watched over meanwhile. */
import type { IncomingMessage } from 'node:http'
import type { ApiHandler } from '../http/api-request.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock } from '../util/clock.ts'
import type { Auditor } from './audit/auditor.ts'
import type { Authenticator } from './authn/authenticator.ts'
import type { Authorizer } from './authz/authorizer.ts'
import type { Cors } from './cors.ts'
import type { InFlightLimits } from './in-flight.ts'
import type { OpenRequests } from './open-requests.ts'
import type { RequestMetrics } from './request-metrics.ts'
import type { Route } from './route.ts'

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

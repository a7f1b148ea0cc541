/** Joins a service's routes with an identity and a place to listen. */
import type { IncomingMessage } from 'node:http'
import type { Auditor } from '../apiserver/audit/auditor.ts'
import { createApp, mountApp } from '../apiserver/create-app.ts'
import { createListener, type Route } from '../apiserver/create-listener.ts'
import type { Authenticator } from '../apiserver/authn/authenticator.ts'
import type { Authorizer } from '../apiserver/authz/authorizer.ts'
import type { Cors } from '../apiserver/cors.ts'
import { PING, type HealthCheck } from '../apiserver/health.ts'
import type { InFlightLimits } from '../apiserver/in-flight.ts'
import { createPlainPaths } from '../apiserver/plain-paths.ts'
import { RequestMetrics } from '../apiserver/request-metrics.ts'
import { listen, type ListenOptions, type RunningServer } from '../apiserver/server.ts'
import { SEARCH_GROUP, SEARCH_GROUP_VERSION } from '../api/resource-registry.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Runtime, Service } from './service.ts'
import { VERSION } from './version.ts'

export interface HttpServerOptions {
  readonly listen: ListenOptions
  readonly prepare?: (request: IncomingMessage) => void
  readonly guard?: (request: IncomingMessage) => void
  readonly authenticate: Authenticator
  readonly authorize: Authorizer
  readonly alwaysAllowPaths: readonly string[]
  readonly inFlight: InFlightLimits
  readonly requestTimeoutMs: number
  readonly minWatchSeconds?: number
  /** Of who can be identified; besides those of the service. */
  readonly checks?: readonly HealthCheck[]
  /** Sent with every answer. */
  readonly headers?: Readonly<Record<string, string>>
  readonly cors?: Cors
  readonly audit?: Auditor
  /** Besides those of the service. */
  readonly routes?: readonly Route[]
  /** Between not ready and no longer accepting, so that load balancers notice. */
  readonly shutdownDelayMs: number
}

const PATHS = [
  '/apis',
  `/apis/${SEARCH_GROUP}`,
  `/apis/${SEARCH_GROUP_VERSION}`,
  '/healthz',
  '/livez',
  '/metrics',
  '/openapi/v2',
  '/openapi/v3',
  '/readyz',
  '/version',
]

/** Until clients have heard that a connection closes: a round trip, and some for a busy machine. */
const NOTICE_MS = 250

/** Rejects where the address cannot be bound. Streams end when the server stops. */
export async function serveHttp(
  service: Pick<Service, 'routes' | 'checks' | 'metrics' | 'notReady'>,
  options: HttpServerOptions,
  { log, clock }: Runtime,
  lifecycle: Lifecycle,
): Promise<RunningServer> {
  const draining = new AbortController()
  const stopping = new AbortController()
  const { listen: where, shutdownDelayMs, checks = [], routes = [], ...rest } = options
  const plainPaths = createPlainPaths({
    version: VERSION,
    checks: [PING, ...service.checks, ...checks],
    metrics: service.metrics,
    platform: `${process.platform}/${process.arch}`,
    paths: [...PATHS, ...routes.map(({ prefix }) => prefix)],
  })
  const listener = createListener({
    ...rest,
    routes: [...service.routes, ...routes],
    fallback: mountApp(createApp(), plainPaths),
    metrics: new RequestMetrics(service.metrics),
    log,
    clock,
    draining: draining.signal,
    signal: stopping.signal,
  })
  const server = await listen(listener, where, clock)
  lifecycle.onStop('server', async (graceMs) => {
    service.notReady()
    draining.abort(new Error('shutting down'))
    if (shutdownDelayMs > 0) await delay(shutdownDelayMs, clock)
    if (server.announceClose() > 0) await delay(NOTICE_MS, clock)
    log.info('no longer accepting requests')
    stopping.abort(new Error('shutting down'))
    await server.close(Math.max(0, graceMs - shutdownDelayMs))
  })
  return server
}

function delay(ms: number, clock: Runtime['clock']): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, ms)
  })
}

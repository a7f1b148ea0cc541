/** Joins a service's routes with an identity and a place to listen. */
import { createApp, mountApp } from '../apiserver/create-app.ts'
import { createListener } from '../apiserver/create-listener.ts'
import type { Route } from '../apiserver/route.ts'
import { PING, type HealthCheck } from '../apiserver/health.ts'
import { OpenRequests } from '../apiserver/open-requests.ts'
import { createPlainPaths } from '../apiserver/plain-paths.ts'
import { RequestMetrics } from '../apiserver/request-metrics.ts'
import type { ListenerOptions } from '../apiserver/listener-options.ts'
import { listen, type ListenOptions, type RunningServer } from '../apiserver/server.ts'
import { SEARCH_GROUP, SEARCH_GROUP_VERSION } from '../api/resource-registry.ts'
import type { Lifecycle } from './lifecycle.ts'
import { stopServer, type ShutdownOptions } from './server-shutdown.ts'
import type { Service } from './service.ts'
import type { Runtime } from './runtime.ts'
import { VERSION } from './version.ts'

/** What of a listener a command decides. */
type CallerOptions = Pick<
  ListenerOptions,
  | 'prepare'
  | 'guard'
  | 'authenticate'
  | 'authorize'
  | 'alwaysAllowPaths'
  | 'inFlight'
  | 'requestTimeoutMs'
  | 'minWatchSeconds'
  | 'headers'
  | 'cors'
  | 'audit'
>

export interface HttpServerOptions extends CallerOptions {
  readonly listen: ListenOptions
  /** Of who can be identified; besides those of the service. */
  readonly checks?: readonly HealthCheck[]
  /** Besides those of the service. */
  readonly routes?: readonly Route[]
  readonly shutdown: ShutdownOptions
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

/** Rejects where the address cannot be bound. Streams end when the server stops. */
export async function serveHttp(
  service: Pick<Service, 'routes' | 'checks' | 'metrics' | 'notReady'>,
  options: HttpServerOptions,
  { log, clock }: Runtime,
  lifecycle: Lifecycle,
): Promise<RunningServer> {
  const draining = new AbortController()
  const stopping = new AbortController()
  const requests = new OpenRequests()
  const { listen: where, shutdown, checks = [], routes = [], ...rest } = options
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
    requests,
    draining: draining.signal,
    signal: stopping.signal,
  })
  const server = await listen(listener, where, clock)
  lifecycle.onStop('server', (graceMs) =>
    stopServer(
      shutdown,
      {
        server,
        requests,
        log,
        clock,
        notReady() {
          service.notReady()
          draining.abort(new Error('shutting down'))
        },
        endStreams: () => stopping.abort(new Error('shutting down')),
      },
      graceMs,
    ),
  )
  return server
}

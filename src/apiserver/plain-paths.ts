/**
 * What is no resource path: health, metrics, version, discovery and OpenAPI of our own group. Plain handlers, since express
 * does not run on HTTP/2; over HTTP/1.1 they are mounted in express (create-app.ts).
 */
import type { ServerResponse } from 'node:http'
import { SEARCH_GROUP, SEARCH_GROUP_VERSION } from '../api/resource-registry.ts'
import type { ApiHandler, ApiRequest } from '../http/api-request.ts'
import { pathNotFound } from '../http/status-response.ts'
import { StatusError } from '../kube/status-error.ts'
import type { Registry } from '../telemetry/metrics.ts'
import { systemClock, type Clock } from '../util/clock.ts'
import { UNAUTHENTICATED_GROUP } from './authn/authenticator.ts'
import { answerHealth, type HealthCheck, type HealthEndpoint } from './health.ts'
import { createOpenApi } from './openapi.ts'
import { aggregatedDiscovery, API_GROUP, API_RESOURCE_LIST, apiGroupList } from './own-discovery.ts'

export interface PlainPathsOptions {
  readonly version: string
  readonly checks: readonly HealthCheck[]
  readonly metrics: Registry
  readonly platform: string
  /** Shown at `/`. */
  readonly paths: readonly string[]
  /** For what may be kept how long. Default: the system's. */
  readonly clock?: Pick<Clock, 'nowMs'>
}

interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A text as it is, anything else as JSON. */
  readonly body: string | object
}

type Answerer = (request: ApiRequest) => Answer | Promise<Answer>

/** Answers `request.path`; throws `notFound` for every other path, `methodNotAllowed` for what is no read. */
export function createPlainPaths(options: PlainPathsOptions): ApiHandler {
  const answerers = tableOf(options)
  const openApi = createOpenApi(options.clock ?? systemClock)
  return async (request, response) => {
    if (request.path.startsWith('/openapi/')) {
      if (!isRead(request)) throw readsOnly(request)
      return openApi({ request, response })
    }
    const answerer = answerers.get(request.path) ?? healthOf(options, request.path)
    if (answerer === undefined) throw pathNotFound()
    if (!isRead(request)) throw readsOnly(request)
    send(request, response, await answerer(request))
  }
}

function tableOf(options: PlainPathsOptions): ReadonlyMap<string, Answerer> {
  return new Map<string, Answerer>([
    ['/', () => ({ body: { paths: options.paths } })],
    ['/version', () => ({ body: versionInfo(options) })],
    ['/metrics', () => metrics(options)],
    ['/api', () => ({ body: { kind: 'APIVersions', versions: [] } })],
    ['/apis', groups],
    [`/apis/${SEARCH_GROUP}`, () => ({ body: API_GROUP })],
    [`/apis/${SEARCH_GROUP_VERSION}`, () => ({ body: API_RESOURCE_LIST })],
  ])
}

/** `/healthz`, `/livez`, `/readyz`, and each with the name of one check behind it. */
function healthOf({ checks }: PlainPathsOptions, path: string): Answerer | undefined {
  const match = /^\/(healthz|livez|readyz)(?:\/([^/]+))?$/.exec(path)
  if (match === null) return undefined
  const [, endpoint, one] = match
  return async ({ query, user }) => {
    // Whoever reaches the port may ask without saying who he is.
    const isTold = !user.groups.includes(UNAUTHENTICATED_GROUP)
    const result = await answerHealth(checks, endpoint as HealthEndpoint, one, query, isTold)
    if (result === undefined) throw pathNotFound()
    return { status: result.status, body: result.body }
  }
}

async function metrics(options: PlainPathsOptions): Promise<Answer> {
  return { headers: { 'content-type': options.metrics.contentType }, body: await options.metrics.metrics() }
}

function groups({ incoming }: ApiRequest): Answer {
  const aggregated = aggregatedVersion(incoming.headers.accept)
  // HTTP/2 has no Host.
  const host = incoming.headers.host ?? incoming.headers[':authority']
  if (aggregated === undefined) {
    return { headers: { vary: 'Accept' }, body: apiGroupList(typeof host === 'string' ? host : '') }
  }
  const type = `application/json;g=apidiscovery.k8s.io;v=${aggregated};as=APIGroupDiscoveryList`
  return { headers: { vary: 'Accept', 'content-type': type }, body: aggregatedDiscovery(aggregated) }
}

/** Which aggregated form `Accept` asks for first; undefined: the plain one. */
function aggregatedVersion(accept = ''): 'v2' | 'v2beta1' | undefined {
  for (const part of accept.split(',')) {
    if (!part.includes('as=APIGroupDiscoveryList')) continue
    if (/v=v2(;|$|\s)/.test(part)) return 'v2'
    if (/v=v2beta1(;|$|\s)/.test(part)) return 'v2beta1'
  }
  return undefined
}

function versionInfo({ version, platform }: PlainPathsOptions): object {
  const [major = '0', minor = '0'] = version.split('.')
  return {
    major,
    minor,
    gitVersion: `v${version}`,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: 'node',
    platform,
  }
}

function isRead({ method }: ApiRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

function readsOnly({ method, path }: ApiRequest): StatusError {
  return new StatusError('methodNotAllowed', `${method} is not supported on ${path}`, { details: {} })
}

function send({ method }: ApiRequest, response: ServerResponse, { status = 200, headers, body }: Answer): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, {
    'cache-control': 'no-cache, private',
    'content-type': typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  if (method === 'HEAD') response.end()
  else response.end(text)
}

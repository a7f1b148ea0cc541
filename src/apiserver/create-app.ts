/** What is no resource path, in express: health, metrics, version, discovery and OpenAPI of our own group. Never listens. */
import express, { type Express, type Request, type Response } from 'express'
import { SEARCH_GROUP, SEARCH_GROUP_VERSION } from '../api/resource-registry.ts'
import { pathNotFound, sendStatus, statusOf } from '../http/status-response.ts'
import { StatusError } from '../kube/status-error.ts'
import type { Registry } from '../telemetry/metrics.ts'
import { answerHealth, type HealthCheck, type HealthEndpoint } from './health.ts'
import { OPENAPI_V2, OPENAPI_V3, openApiV3Index } from './openapi.ts'
import { aggregatedDiscovery, API_GROUP, API_RESOURCE_LIST, apiGroupList } from './own-discovery.ts'

export interface AppOptions {
  readonly version: string
  readonly checks: readonly HealthCheck[]
  readonly metrics: Registry
  readonly platform: string
  /** Shown at `/`. */
  readonly paths: readonly string[]
}

export function createApp(options: AppOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', false)
  addHealth(app, options)
  addDiscovery(app)
  app.get('/version', (_request, response) => json(response, versionInfo(options)))
  app.get('/metrics', async (_request, response) => {
    response.type(options.metrics.contentType).send(await options.metrics.metrics())
  })
  app.get('/', (_request, response) => json(response, { paths: options.paths }))
  app.use((_request: Request, response: Response) => {
    sendStatus(response, statusOf(pathNotFound()))
  })
  return app
}

function addHealth(app: Express, { checks }: AppOptions): void {
  for (const endpoint of ['healthz', 'livez', 'readyz'] as const satisfies HealthEndpoint[]) {
    const answer = (request: Request, response: Response): void => {
      const check = (request.params as { check?: string }).check
      const query = new URL(request.url, 'http://server').searchParams
      const result = answerHealth(checks, endpoint, check, query)
      if (result === undefined) sendStatus(response, statusOf(pathNotFound()))
      else response.status(result.status).type('text/plain').set('cache-control', 'no-cache, private').send(result.body)
    }
    app.get([`/${endpoint}`, `/${endpoint}/:check`], answer)
  }
}

function addDiscovery(app: Express): void {
  app.get('/api', (_request, response) => json(response, { kind: 'APIVersions', versions: [] }))
  app.get('/apis', (request, response) => {
    const aggregated = aggregatedVersion(request.headers.accept)
    response.vary('Accept')
    if (aggregated === undefined) json(response, apiGroupList(request.headers.host ?? ''))
    else {
      const type = `application/json;g=apidiscovery.k8s.io;v=${aggregated};as=APIGroupDiscoveryList`
      response.set('content-type', type).send(Buffer.from(JSON.stringify(aggregatedDiscovery(aggregated))))
    }
  })
  app.get(`/apis/${SEARCH_GROUP}`, (_request, response) => json(response, API_GROUP))
  app.get(`/apis/${SEARCH_GROUP_VERSION}`, (_request, response) => json(response, API_RESOURCE_LIST))
  app.get('/openapi/v2', (request, response) => {
    // The aggregator prefers protobuf, which we do not speak; it takes JSON as its second choice.
    if (!/json|\*\/\*/.test(request.headers.accept ?? '*/*')) return notAcceptable(response)
    json(response, OPENAPI_V2)
  })
  app.get('/openapi/v3', (_request, response) => json(response, openApiV3Index()))
  app.get(`/openapi/v3/apis/${SEARCH_GROUP_VERSION}`, (request, response) => {
    if (/hash=/.test(request.url)) response.set('cache-control', 'public, immutable')
    json(response, OPENAPI_V3)
  })
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

function versionInfo({ version, platform }: AppOptions): object {
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

function notAcceptable(response: Response): void {
  sendStatus(
    response,
    statusOf(new StatusError('notAcceptable', 'only application/json is served here', { details: {} })),
  )
}

function json(response: Response, body: object): void {
  if (!response.hasHeader('cache-control')) response.set('cache-control', 'no-cache, private')
  response.set('content-type', 'application/json').send(Buffer.from(JSON.stringify(body)))
}

/**
 * `proxying/<any name>/<any word>/<native path>`: many clusters as if they were one.
 *
 * One cluster out of many is chosen by the path `proxying/cluster.<NAME>/…` (so that it can be a kubectl's server) or by
 * the header `Fleetsearch-Cluster`; both are stripped before anything is forwarded. How lists are shown can be said in the
 * path too, behind the name: `proxying/karmada;sortBy=-restarts/proxy` (view-parameters.ts).
 */
import { SEARCH_GROUP_VERSION } from '../api/resource-registry.ts'
import type { FleetReader } from '../fleet/fleet.ts'
import type { ApiHandler, ApiRequest } from '../http/api-request.ts'
import type { Exchange } from '../http/answer.ts'
import { warningValue } from '../http/freshness.ts'
import { parseBool } from '../http/list-options.ts'
import { pathNotFound } from '../http/status-response.ts'
import type { ClusterName } from '../kube/names.ts'
import type { ResourcePath } from '../kube/resource-path.ts'
import { parseResourcePath } from '../kube/resource-path.ts'
import { badRequest, notFound, StatusError } from '../kube/status-error.ts'
import type { Plugin, ProxyRequest, Verb } from './plugin.ts'
import { checkWrite, type WriteGuard } from './write-guard.ts'
import { withViewParameters } from './view-parameters.ts'

export interface ProxyOptions {
  readonly plugins: readonly Plugin[]
  readonly fleet: Pick<FleetReader, 'member'>
  /** Undefined: who may change what is for the clusters to say. */
  readonly guard?: WriteGuard | undefined
}

const CLUSTER_PREFIX = 'cluster.'
export const CLUSTER_HEADER = 'fleetsearch-cluster'

/** `request.path` is what follows `proxying`: `/<name>/<word>/<native path>`. */
export function createProxyHandler({ plugins, fleet, guard }: ProxyOptions): ApiHandler {
  const chain = plugins.toSorted((a, b) => a.order - b.order)
  return async (request, response) => {
    const proxied = parseProxyRequest({ request, response }, fleet)
    checkWrite(guard, proxied)
    const plugin = chain.find((candidate) => candidate.supports(proxied))
    if (plugin === undefined) throw pathNotFound()
    return plugin.connect(proxied)
  }
}

function parseProxyRequest(exchange: Exchange, fleet: ProxyOptions['fleet']): ProxyRequest {
  const { request } = exchange
  const match = /^\/([^/]+)\/([^/]+)(\/.*)?$/.exec(request.path)
  if (match === null) throw pathNotFound()
  const [, name = '', word = '', path = '/'] = match
  if (hasDotSegment(path)) throw badRequest('the path has segments that name no resource: ., .. or their escapes')
  const resource = parseResourcePath(path)
  const verb = verbOf(request, resource)
  const [endpoint = '', ...parameters] = name.split(';')
  const isRead = resource?.subresource === undefined && (verb === 'get' || verb === 'list' || verb === 'watch')
  return {
    ...exchange,
    request: isRead ? { ...request, query: withViewParameters(request.query, parameters.map(decode)) } : request,
    path,
    resource,
    verb,
    cluster: chosenCluster(exchange, decode(endpoint), fleet),
    prefix: `/apis/${SEARCH_GROUP_VERSION}/proxying/${name}/${word}`,
  }
}

/**
 * A server behind us might resolve them and so answer another path than the one that was judged here. What follows a
 * `proxy` subresource is an application's own path.
 */
function hasDotSegment(path: string): boolean {
  const [judged = ''] = path.split('/proxy/')
  return judged.split('/').some((segment) => /^(\.|%2e){1,2}$/i.test(segment) || /%2f|%5c|%00|\\/i.test(segment))
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw badRequest('the path has a broken percent escape')
  }
}

/**
 * Throws `notFound` for a cluster there is none of, `badRequest` where path and header name different ones.
 *
 * A kubectl takes the 404 of discovery for a server without that API and never shows its message; a warning it does show.
 * Source: client-go discovery/discovery_client.go, `downloadLegacy`.
 */
function chosenCluster(
  { request, response }: Exchange,
  name: string,
  fleet: ProxyOptions['fleet'],
): ClusterName | undefined {
  const byPath = name.startsWith(CLUSTER_PREFIX) ? name.slice(CLUSTER_PREFIX.length) : undefined
  const header = request.incoming.headers[CLUSTER_HEADER]
  const byHeader = typeof header === 'string' && header !== '' ? header : undefined
  if (byPath !== undefined && byHeader !== undefined && byPath !== byHeader) {
    throw badRequest(`the path chooses cluster ${byPath}, the header ${CLUSTER_HEADER} another one`)
  }
  const chosen = (byPath ?? byHeader) as ClusterName | undefined
  if (chosen !== undefined && fleet.member(chosen) === undefined) {
    const missing = notFound({ group: 'cluster.karmada.io', resource: 'clusters' }, chosen)
    response.setHeader('warning', warningValue(missing.message))
    throw missing
  }
  return chosen
}

/** Source: apiserver pkg/endpoints/request/requestinfo.go. */
function verbOf({ method, query }: ApiRequest, resource: ResourcePath | undefined): Verb {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (resource?.watch === true) return 'watch'
      if (resource === undefined || resource.name !== undefined) return 'get'
      return parseBool(query.get('watch')) === true ? 'watch' : 'list'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return resource?.name === undefined ? 'deletecollection' : 'delete'
    case 'OPTIONS':
      return 'options'
    default:
      throw new StatusError('methodNotAllowed', `the method ${method} is not known here`, { details: {} })
  }
}

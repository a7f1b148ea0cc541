/**
 * What a request is about, as authorization sees it.
 * Source: apiserver pkg/endpoints/request/requestinfo.go; the attributes of connect paths as the aggregator sees them:
 * `search/cache/api/v1/pods` is resource `search`, name `cache`, subresource `api`.
 */
import { SEARCH_GROUP_VERSION } from '../api/resource-registry.ts'
import { parseBool } from '../http/list-options.ts'
import { parseResourcePath } from '../kube/resource-path.ts'
import { badRequest } from '../kube/status-error.ts'

export interface ResourceAttributes {
  readonly verb: string
  readonly group: string
  readonly version: string
  /** Only impersonation of service accounts has one: nothing of ours is namespaced. */
  readonly namespace?: string
  readonly resource: string
  readonly subresource: string
  readonly name: string
}

export interface NonResourceAttributes {
  readonly verb: string
  readonly path: string
}

export type RequestAttributes =
  ({ readonly isResource: true } & ResourceAttributes) | ({ readonly isResource: false } & NonResourceAttributes)

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/**
 * `path` without the query, still encoded. Unknown methods keep their lower-case name, as Kubernetes does. Throws
 * `badRequest` for resource paths whose judged part could be read in two ways: what is allowed must be what is served.
 */
export function requestAttributes(method: string, path: string, query: URLSearchParams): RequestAttributes {
  const [root, group, version, resource, name = '', subresource = ''] = path.split('/').slice(1)
  if (root !== 'apis' || group === undefined || version === undefined || resource === undefined || resource === '') {
    return { isResource: false, verb: method.toLowerCase(), path }
  }
  refuseAmbiguous(path)
  const verb = VERBS[method] ?? method.toLowerCase()
  return {
    isResource: true,
    verb: name === '' ? collectionVerb(verb, query) : verb,
    group,
    version,
    resource: decode(resource),
    subresource: decode(subresource),
    name: decode(name),
  }
}

/** Segments that decide on rights: `/apis/GROUP/VERSION/RESOURCE/NAME/SUBRESOURCE`. */
const JUDGED_SEGMENTS = 6

/** Empty segments (one slash at the end is none), `.` and `..`, and what hides a slash, a backslash or a NUL. */
function refuseAmbiguous(path: string): void {
  const segments = path.split('/').slice(1)
  if (segments.at(-1) === '') segments.pop()
  for (const segment of segments.slice(0, JUDGED_SEGMENTS)) {
    if (segment === '' || /^(\.|%2e){1,2}$/i.test(segment) || /%2f|%5c|%00|\\/i.test(segment)) {
      throw badRequest('the path has segments that name nothing: empty ones, . or .., or escapes of a slash or a NUL')
    }
  }
}

function collectionVerb(verb: string, query: URLSearchParams): string {
  if (verb === 'delete') return 'deletecollection'
  if (verb !== 'get') return verb
  return parseBool(query.get('watch')) === true ? 'watch' : 'list'
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw badRequest('the path has a broken percent escape')
  }
}

/** Of members' own resources: streams by nature. Source: apiserver pkg/server/filters/longrunning.go. */
const STREAMING_SUBRESOURCES: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

const PROXIED = new RegExp(`^/apis/${SEARCH_GROUP_VERSION.replaceAll('.', '\\.')}/proxying/[^/]+/[^/]+(/.*)$`)

/** Why a request lasts: it watches, or it is a stream of another kind. */
export type Lasting = 'watch' | 'stream'

/**
 * Requests that last as long as their client likes: watches, and what is a stream in a member. Neither the time-out nor the
 * limit of requests in flight holds for them, so that nothing else may look like one. Undefined for all others.
 */
export function lasting(attributes: RequestAttributes, path: string, query: URLSearchParams): Lasting | undefined {
  if (!attributes.isResource) return path.startsWith('/debug/pprof/') ? 'stream' : undefined
  if (attributes.resource === 'resourceregistries') return attributes.verb === 'watch' ? 'watch' : undefined
  const asksToWatch = parseBool(query.get('watch')) === true
  if (attributes.resource === 'search') {
    // Watches of queries, and exports: what is asked for below search/query/proxy comes as fast as its client reads.
    const isStream = attributes.name === 'query' && attributes.subresource === 'proxy'
    return isStream ? (asksToWatch ? 'watch' : 'stream') : undefined
  }
  const native = attributes.resource === 'proxying' ? PROXIED.exec(path)?.[1] : undefined
  const target = native === undefined ? undefined : parseResourcePath(native)
  if (target === undefined) return undefined
  const [subresource = ''] = (target.subresource ?? '').split('/', 1)
  if (STREAMING_SUBRESOURCES.has(subresource)) return 'stream'
  if (attributes.verb !== 'get') return undefined
  return target.watch === true || (target.name === undefined && asksToWatch) ? 'watch' : undefined
}

/**
 * What a request is about, as authorization sees it.
 * Source: apiserver pkg/endpoints/request/requestinfo.go; the attributes of connect paths as the aggregator sees them:
 * `search/cache/api/v1/pods` is resource `search`, name `cache`, subresource `api`.
 */
export interface ResourceAttributes {
  readonly verb: string
  readonly group: string
  readonly version: string
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

/** `path` without the query, still encoded. Unknown methods keep their lower-case name, as Kubernetes does. */
export function requestAttributes(method: string, path: string, query: URLSearchParams): RequestAttributes {
  const parts = path.split('/').filter((part) => part !== '')
  const [root, group, version, resource, name = '', subresource = ''] = parts
  if (root !== 'apis' || group === undefined || version === undefined || resource === undefined) {
    return { isResource: false, verb: method.toLowerCase(), path }
  }
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

function collectionVerb(verb: string, query: URLSearchParams): string {
  if (verb === 'delete') return 'deletecollection'
  if (verb !== 'get') return verb
  const watch = query.get('watch')
  return watch === null || watch === 'false' || watch === '0' ? 'list' : 'watch'
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

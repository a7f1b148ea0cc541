/** The native path of a resource, taken apart: `/api/v1/namespaces/shop/pods/web-0/log`. Empty strings for parts not there. */
import type { GroupVersionResource } from '../../kube/group-version.ts'

export interface ResourceRoute extends GroupVersionResource {
  readonly namespace: string
  readonly name: string
  /** Everything behind the name, joined by slashes. */
  readonly subresource: string
}

/** Undefined for paths that name no resource: discovery, health, `/version`. */
export function parseRoute(pathname: string): ResourceRoute | undefined {
  const parts = pathname.split('/').slice(1)
  if (parts.at(-1) === '') parts.pop()
  const core = parts[0] === 'api'
  if (!core && parts[0] !== 'apis') return undefined
  const [group = '', version = ''] = core ? ['', parts[1]] : [parts[1], parts[2]]
  const rest = decode(parts.slice(core ? 2 : 3))
  if (version === '' || rest === undefined || rest.length === 0) return undefined
  const scoped = rest[0] === 'namespaces' && rest.length > 2 && !NAMESPACE_SUBRESOURCES.has(rest[2] ?? '')
  const [resource = '', name = '', ...subresource] = scoped ? rest.slice(2) : rest
  const namespace = scoped ? (rest[1] ?? '') : ''
  return { group, version, namespace, resource, name, subresource: subresource.join('/') }
}

/** What may stand behind a namespace's name without being a resource in it. */
const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize'])

function decode(parts: readonly string[]): string[] | undefined {
  try {
    return parts.map(decodeURIComponent)
  } catch {
    return undefined
  }
}

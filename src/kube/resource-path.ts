/**
 * Native paths of resources, as a kube-apiserver reads them.
 * Source: apiserver pkg/endpoints/request/requestinfo.go. Left out: `/api/v1/proxy/…`, long gone.
 */
import type { GroupVersion } from './group-version.ts'

export interface ResourcePath extends GroupVersion {
  /** Only where the path has one: `/api/v1/namespaces/a/pods`. That of `/api/v1/namespaces/a` is `name`. */
  readonly namespace?: string
  readonly resource: string
  readonly name?: string
  /** What follows the name, decoded, joined by slashes: `log`, `proxy/metrics`. */
  readonly subresource?: string
  /** The deprecated form of a watch: `/api/v1/watch/pods`. */
  readonly watch?: true
}

/** `/api/v1/namespaces/a/status` and `…/finalize` are subresources of the namespace, not resources inside it. */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize'])

/**
 * The parts of `/api/v1/…` or `/apis/<group>/<version>/…`; undefined for every other path: no resource (`/api/v1`), empty
 * segments, `.` or `..`, a slash or NUL hidden in a percent escape, a broken escape. One trailing slash does no harm.
 * `path` has no query.
 */
export function parseResourcePath(path: string): ResourcePath | undefined {
  const segments = decodeSegments(path)
  if (segments === undefined) return undefined
  const groupVersion = groupVersionOf(segments)
  if (groupVersion === undefined) return undefined
  const rest = segments.slice(groupVersion.group === '' ? 2 : 3)
  if (rest[0] !== 'watch' || rest.length === 1) return withResource(groupVersion, rest)
  const watched = withResource(groupVersion, rest.slice(1))
  return watched === undefined ? undefined : { ...watched, watch: true }
}

function decodeSegments(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined
  const segments = path.slice(1).split('/')
  if (segments.at(-1) === '') segments.pop()
  const decoded: string[] = []
  for (const segment of segments) {
    const text = decodeSegment(segment)
    if (text === undefined) return undefined
    decoded.push(text)
  }
  return decoded
}

function decodeSegment(segment: string): string | undefined {
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch {
    return undefined
  }
  if (text === '' || text === '.' || text === '..' || text.includes('/') || text.includes('\0')) return undefined
  return text
}

function groupVersionOf([root, first, second]: readonly string[]): GroupVersion | undefined {
  if (first === undefined) return undefined
  if (root === 'api') return { group: '', version: first }
  if (root === 'apis' && second !== undefined) return { group: first, version: second }
  return undefined
}

function withResource(groupVersion: GroupVersion, parts: readonly string[]): ResourcePath | undefined {
  const [first, second, third] = parts
  const inNamespace =
    first === 'namespaces' && second !== undefined && third !== undefined && !NAMESPACE_SUBRESOURCES.has(third)
  const [resource, name, ...rest] = inNamespace ? parts.slice(2) : parts
  if (resource === undefined) return undefined
  return {
    ...groupVersion,
    ...(inNamespace ? { namespace: second } : {}),
    resource,
    ...(name === undefined ? {} : { name }),
    ...(rest.length === 0 ? {} : { subresource: rest.join('/') }),
  }
}

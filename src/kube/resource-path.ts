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
  /**
   * What follows the name, decoded, joined by slashes: `log`, `ephemeralcontainers`. Behind `proxy` it is an application's
   * own path and stays as it came: `proxy/a%2Fb//c/`.
   */
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
  const hasSlash = path.endsWith('/')
  const parsed = parseSegments(hasSlash ? path.slice(0, -1) : path)
  if (!hasSlash || parsed?.subresource === undefined || !isProxied(parsed.subresource)) return parsed
  return { ...parsed, subresource: `${parsed.subresource}/` }
}

function parseSegments(path: string): ResourcePath | undefined {
  const [empty, root, ...segments] = path.split('/')
  if (empty !== '') return undefined
  const groupLength = root === 'apis' ? 1 : root === 'api' ? 0 : undefined
  if (groupLength === undefined) return undefined
  const head = decoded(segments.slice(0, groupLength + 1))
  const version = head?.[groupLength]
  if (head === undefined || version === undefined) return undefined
  const groupVersion = { group: groupLength === 0 ? '' : (head[0] ?? ''), version }
  const rest = segments.slice(groupLength + 1)
  if (rest[0] !== 'watch' || rest.length === 1) return withResource(groupVersion, rest)
  const watched = withResource(groupVersion, rest.slice(1))
  return watched === undefined ? undefined : { ...watched, watch: true }
}

function withResource(groupVersion: GroupVersion, segments: readonly string[]): ResourcePath | undefined {
  const [first, , third] = segments
  const inNamespace = first === 'namespaces' && third !== undefined && !NAMESPACE_SUBRESOURCES.has(third)
  const own = inNamespace ? segments.slice(2) : segments
  const namespaces = decoded(inNamespace ? segments.slice(1, 2) : [])
  const names = decoded(own.slice(0, 2))
  const rest = own[2] === 'proxy' ? own.slice(2) : decoded(own.slice(2))
  if (namespaces === undefined || names === undefined || rest === undefined) return undefined
  const [resource, name] = names
  if (resource === undefined) return undefined
  return {
    ...groupVersion,
    ...(namespaces[0] === undefined ? {} : { namespace: namespaces[0] }),
    resource,
    ...(name === undefined ? {} : { name }),
    ...(rest.length === 0 ? {} : { subresource: rest.join('/') }),
  }
}

const isProxied = (subresource: string): boolean => subresource === 'proxy' || subresource.startsWith('proxy/')

/** Undefined where one of them is malformed. */
function decoded(segments: readonly string[]): string[] | undefined {
  const texts = segments.map(decodedSegment)
  return texts.some((text) => text === undefined) ? undefined : (texts as string[])
}

function decodedSegment(segment: string): string | undefined {
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch {
    return undefined
  }
  return text === '' || text === '.' || text === '..' || /[/\0]/.test(text) ? undefined : text
}

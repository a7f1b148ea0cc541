/** Where the watch of a query stands: for each resource the versions of its clusters. Clients must not look inside. */
import { crc32 } from 'node:zlib'
import { decodeVersionMap, encodeVersionMap, type VersionMap } from '../kube/multi-cluster-version.ts'
import { badRequest } from '../kube/status-error.ts'

/** base64url of JSON `{"q": <sum of the query>, "at": {"<group>/<resource>": <token of a version map>}}`. */
export function encodeWatchToken(versions: ReadonlyMap<string, VersionMap>, signature: string): string {
  const at = Object.fromEntries([...versions].map(([resource, map]) => [resource, encodeVersionMap(map)]))
  return Buffer.from(JSON.stringify({ q: crc32(signature), at }), 'utf8').toString('base64url')
}

/** Undefined for none. Throws `badRequest` for what is no token, or one of another query. */
export function decodeWatchToken(text: string, signature: string): ReadonlyMap<string, VersionMap> | undefined {
  if (text === '' || text === '0') return undefined
  const { q, at } = parse(text)
  if (q !== crc32(signature)) throw badRequest('resourceVersion: it is of the watch of another query')
  const versions = new Map<string, VersionMap>()
  for (const [resource, token] of Object.entries(at ?? {})) {
    const map = typeof token === 'string' ? decodeVersionMap(token) : undefined
    if (map === undefined) throw badRequest('resourceVersion: it is of no watch')
    versions.set(resource, map)
  }
  return versions
}

function parse(text: string): { readonly q?: unknown; readonly at?: object } {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // said below
  }
  throw badRequest('resourceVersion: it is of no watch')
}

/**
 * The resourceVersion of many clusters: base64url without padding of `{"<cluster>":"<rv>",…}`, clusters in byte order,
 * no spaces, so that equal state gives equal bytes. Byte-compatible with karmada-search
 * (pkg/search/proxy/store/util.go, multiClusterResourceVersion).
 */
import { compareUtf8 } from '../util/bytes.ts'
import { goJsonString } from './go-text.ts'
import type { ClusterName, ResourceVersion } from './names.ts'

/** Versions by cluster. Never mutated once handed out. */
export type VersionMap = ReadonlyMap<ClusterName, ResourceVersion>

/** Without padding: `Buffer.from` would also take the other alphabet, and skip what is none. */
const BASE64URL = /^[A-Za-z0-9_-]+$/

const tokens = new WeakMap<VersionMap, string>()

/** The token of a map, remembered for as long as the map lives. The empty map is `e30`. */
export function encodeVersionMap(map: VersionMap): string {
  const known = tokens.get(map)
  if (known !== undefined) return known
  const clusters = [...map].sort(([a], [b]) => compareUtf8(a, b))
  const json = `{${clusters.map(([cluster, version]) => `${goJsonString(cluster)}:${goJsonString(version)}`).join(',')}}`
  const token = Buffer.from(json, 'utf8').toString('base64url')
  tokens.set(map, token)
  return token
}

/**
 * The map of a token; undefined for what is none: a read treats that as no version at all (contract of the original).
 * `0` and the empty string are not tokens and keep their Kubernetes meaning: the caller looks at them first.
 */
export function decodeVersionMap(token: string): VersionMap | undefined {
  if (!BASE64URL.test(token)) return undefined
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const map = new Map<ClusterName, ResourceVersion>()
  for (const [cluster, version] of Object.entries(value)) {
    if (typeof version !== 'string') return undefined
    map.set(cluster as ClusterName, version as ResourceVersion)
  }
  return map
}

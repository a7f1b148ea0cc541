/** Adds to a discovery document of the control plane what only the members serve; what the control plane says stays. */
import type { Document } from './documents.ts'

/** Both of one kind; of different kinds (an old control plane that has no aggregated form) the first is returned. */
export function mergeDocuments(host: Document, members: Document): Document {
  if (host['kind'] !== members['kind']) return host
  switch (host['kind']) {
    case 'APIVersions':
      return { ...host, versions: union(host['versions'], members['versions'], String) }
    case 'APIGroupList':
      return { ...host, groups: union(host['groups'], members['groups'], nameOf, mergeGroup) }
    case 'APIGroup':
      return mergeGroup(host, members)
    case 'APIResourceList':
      return { ...host, resources: union(host['resources'], members['resources'], nameOf) }
    case 'APIGroupDiscoveryList':
      return { ...host, items: union(host['items'], members['items'], discoveryName, mergeDiscovery) }
    default:
      return host
  }
}

function mergeGroup(host: Document, members: Document): Document {
  return { ...host, versions: union(host['versions'], members['versions'], versionOf) }
}

function mergeDiscovery(host: Document, members: Document): Document {
  const resourceOf = ({ resource }: Document): string => String(resource)
  const mergeVersion = (a: Document, b: Document): Document => ({
    ...a,
    resources: union(a['resources'], b['resources'], resourceOf),
  })
  return { ...host, versions: union(host['versions'], members['versions'], versionOf, mergeVersion) }
}

const nameOf = ({ name }: Document): string => String(name)
const versionOf = ({ version }: Document): string => String(version)
const discoveryName = ({ metadata }: Document): string => String((metadata as Document | undefined)?.['name'] ?? '')

/** Entries of `a`, merged with those of `b` under the same key, then what only `b` has. */
function union<T>(a: unknown, b: unknown, keyOf: (entry: T) => string, merge?: (a: T, b: T) => T): T[] {
  const own = Array.isArray(a) ? (a as T[]) : []
  const others = new Map((Array.isArray(b) ? (b as T[]) : []).map((entry) => [keyOf(entry), entry]))
  const merged = own.map((entry) => {
    const other = others.get(keyOf(entry))
    others.delete(keyOf(entry))
    return other === undefined || merge === undefined ? entry : merge(entry, other)
  })
  return [...merged, ...others.values()]
}

/** Which clusters hold an object. */
import type { CachedObject, ResourceReader } from '../cache/reader.ts'
import type { GroupResource } from '../kube/group-version.ts'
import { groupResourceKey } from '../kube/group-version.ts'
import type { ClusterName } from '../kube/names.ts'
import type { ResourcePath } from '../kube/resource-path.ts'
import { StatusError } from '../kube/status-error.ts'

/** An object of that path in each cluster that has one. A namespaced object is not found without its namespace. */
export function ownersOf(
  reader: ResourceReader,
  { namespace = '', name = '' }: Pick<ResourcePath, 'namespace' | 'name'>,
  clusters: ReadonlySet<ClusterName> | undefined,
): CachedObject[] {
  if (reader.namespaced === (namespace === '')) return []
  return reader
    .shards()
    .filter(({ cluster }) => clusters === undefined || clusters.has(cluster))
    .map(({ cluster }) => reader.get(cluster, namespace, name))
    .filter((object) => object !== undefined)
}

/**
 * Behind `proxy` a name may say a scheme and a port too: `web:80`, `https:web:tls`. The object is the one in between.
 * Source: apimachinery pkg/util/net/port_split.go, SplitSchemeNamePort.
 */
export function objectPath(path: ResourcePath): ResourcePath {
  const { name, subresource = '' } = path
  if (name === undefined || !/^proxy(\/|$)/.test(subresource)) return path
  const parts = name.split(':')
  const [first = '', second = ''] = parts
  const isScheme = parts.length === 3 && ['', 'http', 'https'].includes(first)
  const plain = isScheme ? second : parts.length < 3 ? first : name
  return { ...path, name: plain === '' ? name : plain }
}

/** 409: the request is about one object and several clusters have it. */
export function ambiguous(
  path: GroupResource & Pick<ResourcePath, 'name'>,
  owners: readonly { readonly cluster: ClusterName }[],
): StatusError {
  const { group, resource, name = '' } = path
  const clusters = owners.map(({ cluster }) => cluster).join(', ')
  const message =
    `Operation cannot be fulfilled on ${groupResourceKey(path)} ${JSON.stringify(name)}: it exists in the clusters ` +
    `${clusters}; choose one by the path proxying/cluster.<NAME>/proxy/... or the header Fleetsearch-Cluster`
  return new StatusError('conflict', message, {
    details: { name, ...(group === '' ? {} : { group }), kind: resource },
  })
}

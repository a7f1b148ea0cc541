/** What the caller of a query may see of everything there is, as the store wants it. */
import type { CacheReader, ResourceReader } from '../cache/reader.ts'
import { weigh, type Admission } from '../http/admission.ts'
import type { ApiRequest } from '../http/api-request.ts'
import type { Rights } from '../http/rights.ts'
import type { GroupResource } from '../kube/group-version.ts'
import type { ClusterName } from '../kube/names.ts'
import type { ObjectScope } from '../kube/object-scope.ts'
import type { VisibleDocuments, VisibleResource } from '../query/search-request.ts'

export interface VisibleToCaller {
  /** Undefined: all documents. */
  readonly documents: VisibleDocuments | undefined
  /** Clusters of which nothing is shown, and why. */
  readonly hidden: ReadonlyMap<string, string>
  /** Clusters of which some kinds, namespaces or names are shown. */
  readonly inPart: ReadonlySet<string>
}

/** A document is visible to whoever could list its object, be it by a list of its namespace or of its name alone. */
export async function documentsVisibleTo(
  rights: Rights | undefined,
  cache: Pick<CacheReader, 'resources'>,
  { user, signal }: Pick<ApiRequest, 'user' | 'signal'>,
): Promise<VisibleToCaller> {
  if (rights === undefined) return { documents: undefined, hidden: new Map(), inPart: new Set() }
  const summary = new Summary()
  await Promise.all(
    cache.resources().map(async (reader) => summary.add(reader, await admissionTo(rights, reader, user, signal))),
  )
  return summary.result()
}

function admissionTo(
  rights: Rights,
  reader: ResourceReader,
  user: ApiRequest['user'],
  signal: AbortSignal,
): Promise<Admission> {
  const { namespaced, gvr } = reader
  const { group, resource } = gvr
  const question = { user, verb: 'list', group, resource, subresource: '', namespace: '', name: '', namespaced }
  const clusters = reader.shards().map(({ cluster }) => cluster)
  return weigh(rights, { ...question, byObject: true }, clusters, signal)
}

interface SeenOfCluster {
  readonly resources: { readonly resource: GroupResource; readonly scope: ObjectScope }[]
  complete: boolean
  undetermined: string | undefined
}

/** Brings the admissions of all resources into the order of clusters. */
class Summary {
  readonly #clusters = new Map<ClusterName, SeenOfCluster>()

  add({ gvr: { group, resource } }: Pick<ResourceReader, 'gvr'>, { scopes, refused }: Admission): void {
    for (const [cluster, scope] of scopes) {
      const seen = this.#of(cluster)
      seen.resources.push({ resource: { group, resource }, scope })
      seen.complete &&= scope.everything
    }
    for (const { cluster, undetermined } of refused) {
      const seen = this.#of(cluster)
      seen.complete = false
      seen.undetermined ??= undetermined
    }
  }

  result(): VisibleToCaller {
    const clusters = [...this.#clusters]
    if (clusters.every(([, { complete }]) => complete)) {
      return { documents: undefined, hidden: new Map(), inPart: new Set() }
    }
    const inPart = clusters.filter(([, { complete, resources }]) => !complete && resources.length > 0)
    const hidden = clusters.filter(([, { resources }]) => resources.length === 0)
    return {
      documents: documentsOf(clusters),
      hidden: new Map(hidden.map(([cluster, { undetermined }]) => [cluster, reasonOf(undetermined)])),
      inPart: new Set(inPart.map(([cluster]) => cluster)),
    }
  }

  #of(cluster: ClusterName): SeenOfCluster {
    let seen = this.#clusters.get(cluster)
    if (seen === undefined) {
      this.#clusters.set(cluster, (seen = { resources: [], complete: true, undetermined: undefined }))
    }
    return seen
  }
}

function reasonOf(undetermined: string | undefined): string {
  return undetermined === undefined ? 'you may not list anything there' : `your rights: ${undetermined}`
}

/** Clusters of equal rights share a part. */
function documentsOf(clusters: readonly (readonly [ClusterName, SeenOfCluster])[]): VisibleDocuments {
  const places = new Map<string, number>()
  const parts: (readonly VisibleResource[])[] = []
  const partOf = new Map<string, number>()
  for (const [cluster, { resources }] of clusters) {
    if (resources.length === 0) continue
    const key = resources
      .map(({ resource, scope }) => `${resource.group}/${resource.resource}=${keyOf(scope)}`)
      .sort()
      .join('\n')
    let place = places.get(key)
    if (place === undefined) {
      places.set(key, (place = parts.length))
      parts.push(resources.map(({ resource, scope }) => visibleResource(resource, scope)))
    }
    partOf.set(cluster, place)
  }
  return { clusters: partOf, parts }
}

function visibleResource({ group, resource }: GroupResource, scope: ObjectScope): VisibleResource {
  const names = [...scope.names].flatMap(([namespace, some]) => [...some].map((name) => ({ namespace, name })))
  return {
    group,
    resource,
    everything: scope.everything,
    namespaces: [...scope.namespaces],
    names: [...names, ...[...scope.anywhere].map((name) => ({ name }))],
  }
}

/** Scopes are kept as long as the rights they stand for do not change. */
const keys = new WeakMap<ObjectScope, string>()

function keyOf(scope: ObjectScope): string {
  const known = keys.get(scope)
  if (known !== undefined) return known
  const { namespaces, names, anywhere } = scope
  const named = [...names].map(([namespace, some]) => [namespace, [...some].sort()] as const).sort()
  const key = scope.everything ? '*' : JSON.stringify([[...namespaces].sort(), named, [...anywhere].sort()])
  keys.set(scope, key)
  return key
}

/** What of a cached resource the caller of search/cache sees. */
import { clusterView } from '../cache/cluster-view.ts'
import type { CachedObject, ResourceReader } from '../cache/reader.ts'
import { admit, refusedClusters } from '../http/admission.ts'
import type { ApiRequest } from '../http/api-request.ts'
import type { ClusterFreshness } from '../http/freshness.ts'
import type { PageSource } from '../http/object-page.ts'
import type { Rights, RightsQuestion } from '../http/rights.ts'
import { visiblePages } from '../http/visible-pages.ts'
import type { ClusterName } from '../kube/names.ts'
import type { ResourcePath } from '../kube/resource-path.ts'

export interface VisibleResource {
  readonly source: PageSource<CachedObject>
  /** Clusters of which nothing is shown, and why. */
  readonly refused: readonly ClusterFreshness[]
  readonly hidden: ReadonlySet<string>
  /** Clusters of which some namespaces or names are shown. */
  readonly inPart: ReadonlySet<string>
}

/** Rejects with the refusal where nothing is shown of any cluster that is asked for and has the resource registered. */
export async function visibleTo(
  rights: Rights | undefined,
  request: ApiRequest,
  path: ResourcePath,
  reader: ResourceReader,
  chosen: (cluster: ClusterName) => boolean,
): Promise<VisibleResource> {
  if (rights === undefined) return { source: reader, refused: [], hidden: new Set(), inPart: new Set() }
  const clusters = reader
    .shards()
    .map(({ cluster }) => cluster)
    .filter(chosen)
  const admission = await admit(rights, questionOf(request, path, reader.namespaced), clusters, request.signal)
  const { scopes } = admission
  const view = clusterView(reader, new Set(scopes.keys()))
  const inPart = [...scopes].filter(([, scope]) => !scope.everything).map(([cluster]) => cluster)
  return {
    source: inPart.length === 0 ? view : visiblePages(view, scopes),
    refused: refusedClusters(admission),
    hidden: new Set(admission.refused.map(({ cluster }) => cluster)),
    inPart: new Set(inPart),
  }
}

/** A list shows what the caller could list, be it namespace by namespace or name by name; one object is one that he may get. */
function questionOf({ user }: ApiRequest, path: ResourcePath, namespaced: boolean): RightsQuestion {
  const { group, resource, name = '' } = path
  const isNamespace = group === '' && resource === 'namespaces'
  return {
    user,
    verb: name === '' ? 'list' : 'get',
    group,
    resource,
    subresource: '',
    namespace: path.namespace ?? (isNamespace ? name : ''),
    name,
    byObject: name === '',
    namespaced,
  }
}

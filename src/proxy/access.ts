/** Rights on proxied requests: what of a request decides on them, and what is left of a resource for its caller. */
import { clusterView } from '../cache/cluster-view.ts'
import type { ResourceReader } from '../cache/reader.ts'
import type { Admission } from '../http/admission.ts'
import { admit } from '../http/admission.ts'
import type { Rights, RightsQuestion } from '../http/rights.ts'
import { parseFieldSelector } from '../kube/field-selector.ts'
import type { ResourcePath } from '../kube/resource-path.ts'
import type { ProxyRequest } from './plugin.ts'
import { chosenClusters } from './plugin.ts'

/** A cached resource as the caller sees it. */
export interface Access {
  readonly reader: ResourceReader
  /** Undefined where rights are not looked at. */
  readonly admission: Admission | undefined
}

/** Rejects with the refusal where no cluster that the request is about allows it. */
export async function accessTo(
  rights: Rights | undefined,
  request: ProxyRequest,
  path: ResourcePath,
  reader: ResourceReader,
): Promise<Access> {
  if (rights === undefined) return { reader, admission: undefined }
  const chosen = chosenClusters(request)
  const clusters = reader.shards().map(({ cluster }) => cluster)
  const asked = clusters.filter((cluster) => chosen === undefined || chosen.has(cluster))
  const question = questionOf(request, path, reader.namespaced)
  const admission = await admit(rights, question, asked, request.request.signal)
  return { reader: clusterView(reader, new Set(admission.scopes.keys())), admission }
}

/** Source: apiserver pkg/endpoints/request/requestinfo.go. */
export function questionOf({ request, verb }: ProxyRequest, path: ResourcePath, namespaced: boolean): RightsQuestion {
  const { group, resource, name = '' } = path
  const [subresource = ''] = (path.subresource ?? '').split('/', 1)
  const isNamespace = group === '' && resource === 'namespaces'
  return {
    user: request.user,
    verb,
    group,
    resource,
    subresource,
    // The path of a Namespace is one within it: a role there may allow it.
    namespace: path.namespace ?? (isNamespace ? name : ''),
    name: name === '' && (verb === 'list' || verb === 'watch') ? selectedName(request.query) : name,
    byObject: false,
    namespaced,
  }
}

/** The one name that a list or watch is about, if it selects one. Throws as `parseFieldSelector`. */
function selectedName(query: URLSearchParams): string {
  const { requirements } = parseFieldSelector(query.get('fieldSelector') ?? '')
  const value = requirements.find(({ field, operator }) => field === 'metadata.name' && operator === '=')?.value ?? ''
  return value === '.' || value === '..' || /[/%]/.test(value) ? '' : value
}

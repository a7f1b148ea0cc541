/**
 * Plugin 2000: every other verb, and subresources, of registered resources. It finds the owning cluster and refuses what
 * has none (404) or several (409); forwarding to it is not served by this version (501).
 */
import type { CacheReader, ResourceReader } from '../../cache/reader.ts'
import { refusalOf } from '../../http/admission.ts'
import type { Rights } from '../../http/rights.ts'
import { methodNotAllowed, pathNotFound } from '../../http/status-response.ts'
import type { ResourcePath } from '../../kube/resource-path.ts'
import { notFound, notImplemented } from '../../kube/status-error.ts'
import { accessTo } from '../access.ts'
import { ambiguous, ownersOf } from '../owners.ts'
import type { Plugin, ProxyRequest } from '../plugin.ts'
import { chosenClusters } from '../plugin.ts'

export interface ClusterPluginOptions {
  readonly cache: Pick<CacheReader, 'resource'>
  /** Undefined: everybody may know which cluster has which object. */
  readonly rights?: { readonly rights: Rights } | undefined
}

export function createClusterPlugin({ cache, rights }: ClusterPluginOptions): Plugin {
  return {
    name: 'cluster',
    order: 2000,
    supports: ({ resource }) => resource !== undefined && cache.resource(resource) !== undefined,
    async connect(request) {
      const { resource } = request
      const reader = resource === undefined ? undefined : cache.resource(resource)
      if (resource === undefined || reader === undefined) throw pathNotFound()
      throw await refusal(request, resource, reader, rights?.rights)
    },
  }
}

/** What a request that only its owner can serve is answered. Of a cluster that would refuse it, nothing is told. */
async function refusal(
  request: ProxyRequest,
  path: ResourcePath,
  all: ResourceReader,
  rights: Rights | undefined,
): Promise<Error> {
  const { verb, cluster } = request
  if (path.namespace !== undefined && !all.namespaced) return pathNotFound()
  if (verb === 'options') return methodNotAllowed(path, verb)
  const { reader, admission } = await accessTo(rights, request, path, all)
  if (path.name === undefined) {
    if (verb === 'create' && cluster !== undefined) return forwardingLater(verb, path, cluster)
    return methodNotAllowed(path, verb)
  }
  const owners = ownersOf(reader, path, chosenClusters(request))
  const [owner] = owners
  if (owner === undefined && admission !== undefined && admission.refused.length > 0) return refusalOf(admission)
  if (owner === undefined) return notFound(path, path.name)
  if (owners.length > 1) return ambiguous(path, owners)
  return forwardingLater(verb, path, owner.cluster)
}

function forwardingLater(verb: string, { resource, subresource }: ResourcePath, cluster: string): Error {
  const what = subresource === undefined ? resource : `${resource}/${subresource}`
  return notImplemented(`${verb} of ${what} in cluster ${cluster} is not forwarded by this version`)
}

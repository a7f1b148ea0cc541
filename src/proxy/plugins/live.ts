/**
 * Plugin 1500: reads of registered resources that the cache does not answer: another version than the cached one, an
 * exact version, `consistency=strong`. Only registered clusters and namespaces are asked.
 */
import type { CacheReader } from '../../cache/reader.ts'
import { pathNotFound } from '../../http/status-response.ts'
import type { LiveServices } from '../live/serve-live.ts'
import { serveLive } from '../live/serve-live.ts'
import { findLiveTarget } from '../live/target.ts'
import { auditCluster, type Plugin } from '../plugin.ts'
import type { MemberDiscovery } from '../ports.ts'

export interface LivePluginOptions extends LiveServices {
  readonly cache: Pick<CacheReader, 'resource'>
  readonly discovery: MemberDiscovery
}

export function createLivePlugin(options: LivePluginOptions): Plugin {
  return {
    name: 'live',
    order: 1500,
    supports: ({ resource, verb }) =>
      (verb === 'get' || verb === 'list' || verb === 'watch') &&
      resource !== undefined &&
      resource.subresource === undefined &&
      options.cache.resource(resource) !== undefined,
    async connect(request) {
      const { resource } = request
      const reader = resource === undefined ? undefined : options.cache.resource(resource)
      if (resource === undefined || reader === undefined) throw pathNotFound()
      const target = findLiveTarget(options, resource, request.cluster, reader)
      if (target === undefined) throw pathNotFound()
      if (request.cluster !== undefined) auditCluster(request, request.cluster)
      await serveLive(options, request, resource, target)
    },
  }
}

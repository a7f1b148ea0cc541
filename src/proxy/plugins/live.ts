/**
 * Plugin 1500: reads of registered resources that the cache does not answer: another version than the cached one, an
 * exact version, `consistency=strong`, a redacted kind. Only registered clusters and namespaces are asked; of a redacted kind
 * as the caller, so that its values are told to nobody whom the member would not tell.
 */
import type { CacheReader } from '../../cache/reader.ts'
import { pathNotFound } from '../../http/status-response.ts'
import type { Forwarder } from '../forward/forward.ts'
import { asCaller } from '../live/as-caller.ts'
import type { LiveServices } from '../live/serve-live.ts'
import { serveLive } from '../live/serve-live.ts'
import { findLiveTarget } from '../live/target.ts'
import { auditCluster, type Plugin } from '../plugin.ts'
import type { MemberDiscovery } from '../ports.ts'

export interface LivePluginOptions extends LiveServices {
  readonly cache: Pick<CacheReader, 'resource'>
  readonly discovery: MemberDiscovery
  readonly forwarder: Forwarder
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
      if (reader.redacted !== true) return serveLive(options, request, resource, target)
      await serveLive(
        { ...options, rights: undefined },
        request,
        resource,
        asCaller(target, request, options.forwarder),
      )
    },
  }
}

/**
 * Plugin 2000: every other verb, and subresources, of registered resources. The request goes to the cluster that has the
 * object, or to the chosen one, as the caller.
 */
import { routeToOwner, type RouteSources } from '../forward/route.ts'
import type { Plugin } from '../plugin.ts'
import { serveOwned, type WriteServices } from '../write/write.ts'

export interface ClusterPluginOptions extends RouteSources, WriteServices {}

export function createClusterPlugin(options: ClusterPluginOptions): Plugin {
  const { cache } = options
  return {
    name: 'cluster',
    order: 2000,
    supports: ({ resource }) => resource !== undefined && cache.resource(resource) !== undefined,
    async connect(request) {
      await serveOwned(options, request, await routeToOwner(options, request))
    },
  }
}

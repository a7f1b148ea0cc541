/**
 * Plugin 2000: every other verb, and subresources, of registered resources. The request goes to the cluster that has the
 * object, or to the chosen one, as the caller.
 */
import { notImplemented } from '../../kube/status-error.ts'
import { memberDestination } from '../forward/destination.ts'
import type { Forwarder } from '../forward/forward.ts'
import { routeToOwner, type RouteSources } from '../forward/route.ts'
import { isApplication, isSession, mayChange } from '../forward/streaming.ts'
import type { Plugin } from '../plugin.ts'

export interface ClusterPluginOptions extends RouteSources {
  readonly forwarder: Forwarder
  /** What reaches into a workload is forwarded: exec, attach, port-forward, `proxy`. Default true. */
  readonly sessions?: boolean
}

export function createClusterPlugin(options: ClusterPluginOptions): Plugin {
  const { cache, forwarder, sessions = true } = options
  return {
    name: 'cluster',
    order: 2000,
    supports: ({ resource }) => resource !== undefined && cache.resource(resource) !== undefined,
    async connect(request) {
      const { member } = await routeToOwner(options, request)
      const inWorkload = isSession(request) || isApplication(request)
      if (mayChange(request) && !(sessions && inWorkload))
        throw notImplemented(`${request.verb} is not forwarded by this version`)
      await forwarder.forward(request, memberDestination(member))
    },
  }
}

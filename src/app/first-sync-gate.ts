/**
 * Until the first sync is over nobody is answered from a cache that is not full: a list would be short without a word, and a
 * write would go to the control plane because its resource is not known to be registered.
 */
import type { Route } from '../apiserver/route.ts'
import { StatusError } from '../kube/status-error.ts'
import type { SyncCheck } from './sync-check.ts'

/** The route, answering 503 with Retry-After while `sync` waits for something. */
export function whenSynced(sync: Pick<SyncCheck, 'waitsFor'>, route: Route): Route {
  return {
    ...route,
    handler: async (request, response) => {
      const waiting = sync.waitsFor()
      if (waiting !== undefined) throw notReady(waiting)
      await route.handler(request, response)
    },
  }
}

function notReady(reason: string): StatusError {
  return new StatusError('serviceUnavailable', `not ready: ${reason}`, { details: { retryAfterSeconds: 1 } })
}

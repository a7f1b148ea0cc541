/** Who may change anything through the proxy of a server that is read-only by itself (`up`, `demo`). */
import type { UserInfo } from '../http/api-request.ts'
import { StatusError } from '../kube/status-error.ts'
import { mayChange } from './forward/streaming.ts'
import type { ProxyRequest } from './plugin.ts'
import { isSelfReview } from './self-review.ts'

export interface WriteGuard {
  /** Why this caller may not; undefined: he may. */
  refusal(user: UserInfo): string | undefined
}

/**
 * Throws `forbidden` for what changes something, or may: every write, and sessions in workloads, which are opened by GET too.
 * Self reviews change nothing.
 */
export function checkWrite(guard: WriteGuard | undefined, request: ProxyRequest): void {
  if (guard === undefined || !mayChange(request) || isSelfReview(request)) return
  const reason = guard.refusal(request.request.user)
  if (reason !== undefined) throw new StatusError('forbidden', reason, { details: {} })
}

/**
 * Asks the control plane by SubjectAccessReview and remembers answers for a while, as a delegated authorizer does.
 * `system:masters` may do everything without asking. The cache is bounded; a failed review is never remembered.
 */
import { LRUCache } from 'lru-cache'
import type { UserInfo } from '../../http/api-request.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { RequestAttributes } from '../request-info.ts'
import type { Authorizer, Decision } from './authorizer.ts'

/** Posts a review and resolves with the control plane's parsed answer; rejects where there is none. */
export type PostReview = (review: object, signal: AbortSignal) => Promise<unknown>

export interface SubjectAccessReviewOptions {
  readonly post: PostReview
  readonly authorizedTtlMs: number
  readonly unauthorizedTtlMs: number
  readonly monotonicMs: () => number
}

const MASTERS = 'system:masters'
/** Decisions remembered; about 0.5 KB each. */
const MAX_DECISIONS = 8_192

export function subjectAccessReviewAuthorizer(options: SubjectAccessReviewOptions): Authorizer {
  const decisions = new LRUCache<string, Decision>({
    max: MAX_DECISIONS,
    // lru-cache takes a start of 0 for none.
    perf: { now: () => options.monotonicMs() + 1 },
    ttlResolution: 0,
  })
  return async (user, attributes, signal) => {
    if (user.groups.includes(MASTERS)) return { allowed: true, reason: '' }
    const spec = reviewSpec(user, attributes)
    const key = JSON.stringify(spec)
    const known = decisions.get(key)
    if (known !== undefined) return known
    const decision = await review(options.post, spec, signal)
    const ttl = decision.allowed ? options.authorizedTtlMs : options.unauthorizedTtlMs
    if (ttl > 0) decisions.set(key, decision, { ttl })
    return decision
  }
}

function reviewSpec(user: UserInfo, attributes: RequestAttributes): object {
  const { isResource, ...rest } = attributes
  return {
    user: user.name,
    groups: user.groups,
    ...(user.uid === '' ? {} : { uid: user.uid }),
    ...(Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
    ...(isResource ? { resourceAttributes: rest } : { nonResourceAttributes: rest }),
  }
}

async function review(post: PostReview, spec: object, signal: AbortSignal): Promise<Decision> {
  let answer: unknown
  try {
    answer = await post({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }, signal)
  } catch (error) {
    throw new StatusError('internal', 'the control plane could not be asked for this caller’s rights', { cause: error })
  }
  const status = (answer as { status?: { allowed?: unknown; denied?: unknown; reason?: unknown } } | null)?.status
  return {
    allowed: status?.allowed === true && status.denied !== true,
    reason: typeof status?.reason === 'string' ? status.reason : '',
  }
}

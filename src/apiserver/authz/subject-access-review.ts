/**
 * Asks the control plane by SubjectAccessReview and remembers answers for a while, as a delegated authorizer does.
 * `system:masters` may do everything without asking. The cache is bounded; a failed review is never remembered.
 * Source: apiserver plugin/pkg/authorizer/webhook, pkg/authorization/authorizerfactory.
 */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { UserInfo } from '../../http/api-request.ts'
import type { RequestAttributes } from '../request-info.ts'
import { PendingReviews, undecided, type PostReview } from '../review.ts'
import type { Authorizer, Decision } from './authorizer.ts'

export interface SubjectAccessReviewOptions {
  readonly post: PostReview
  readonly authorizedTtlMs: number
  readonly unauthorizedTtlMs: number
  readonly monotonicMs: () => number
  /** The server stops: a review may be shared by several requests, so that it does not end with one of them. */
  readonly signal: AbortSignal
}

export const MASTERS = 'system:masters'
/** Decisions remembered; at most 1.5 KB each. */
const MAX_DECISIONS = 8_192
/** A longer question is remembered by its hash: users may have hundreds of groups. */
const MAX_KEY_LENGTH = 1_024
/** What is longer is asked each time, as a kube-apiserver does: paths and names are the caller's to choose. */
const MAX_ATTRIBUTES_LENGTH = 10_000
/** Different questions at once. */
const MAX_PENDING = 1_024

export function subjectAccessReviewAuthorizer(options: SubjectAccessReviewOptions): Authorizer {
  const pending = new PendingReviews<Decision>(MAX_PENDING)
  const decisions = new LRUCache<string, Decision>({
    max: MAX_DECISIONS,
    // lru-cache takes a start of 0 for none.
    perf: { now: () => options.monotonicMs() + 1 },
    ttlResolution: 0,
  })
  return async (user, attributes, signal) => {
    if (user.groups.includes(MASTERS)) return { allowed: true, reason: '' }
    const spec = reviewSpec(user, attributes)
    const key = keyOf(JSON.stringify(spec))
    const known = decisions.get(key)
    if (known !== undefined) return known
    signal.throwIfAborted()
    return pending.join(key, async () => {
      const decision = await review(options, spec)
      const ttl = decision.allowed ? options.authorizedTtlMs : options.unauthorizedTtlMs
      if (ttl > 0 && isMemorable(attributes)) decisions.set(key, decision, { ttl })
      return decision
    })
  }
}

function keyOf(question: string): string {
  return question.length <= MAX_KEY_LENGTH ? question : createHash('sha256').update(question).digest('base64')
}

function isMemorable(attributes: RequestAttributes): boolean {
  return Object.values(attributes).reduce((sum, value) => sum + String(value).length, 0) <= MAX_ATTRIBUTES_LENGTH
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

async function review({ post, signal }: SubjectAccessReviewOptions, spec: object): Promise<Decision> {
  let answer: unknown
  try {
    answer = await post({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }, signal)
  } catch (cause) {
    throw undecided('for this caller’s rights', cause)
  }
  const status = (answer as { status?: { allowed?: unknown; denied?: unknown; reason?: unknown } } | null)?.status
  return {
    allowed: status?.allowed === true && status.denied !== true,
    reason: typeof status?.reason === 'string' ? status.reason : '',
  }
}

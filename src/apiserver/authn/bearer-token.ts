/**
 * Bearer tokens, checked by the control plane's TokenReview. Answers are remembered for a while, good and bad ones alike;
 * a review that failed is not. The token itself is kept nowhere: the memory's keys are made of it with a secret.
 * Source: apiserver pkg/authentication/{request/bearertoken,token/cache}, plugin/pkg/authenticator/token/webhook.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { UserInfo } from '../../http/api-request.ts'
import { StatusError } from '../../kube/status-error.ts'
import { PendingReviews, undecided, type PostReview } from '../review.ts'
import type { Authenticator } from './authenticator.ts'
import { headerLines } from './header-lines.ts'
import { webSocketToken } from './websocket-token.ts'

export interface BearerTokenOptions {
  readonly post: PostReview
  /** How long an answer is remembered; 0: not at all. */
  readonly ttlMs: number
  readonly monotonicMs: () => number
  /** The server stops: reviews that are shared by several requests end with it. */
  readonly signal: AbortSignal
}

/** Answers remembered: by number, and by the size of the identities in them. */
const MAX_ANSWERS = 8_192
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
/** Different tokens under review at once; a flood of invented ones must neither grow nor starve the others for long. */
const MAX_PENDING = 256

type Answer = UserInfo | 'rejected'

/** Undefined for requests without a bearer token; throws `unauthorized` for a token that is no good. */
export function bearerTokenAuthenticator(options: BearerTokenOptions): Authenticator {
  const secret = randomBytes(32)
  const pending = new PendingReviews<Answer>(MAX_PENDING)
  const answers = new LRUCache<string, Answer>({
    max: MAX_ANSWERS,
    maxSize: MAX_ANSWER_BYTES,
    sizeCalculation: (answer) => 128 + (answer === 'rejected' ? 0 : JSON.stringify(answer).length),
    // lru-cache takes a start of 0 for none.
    perf: { now: () => options.monotonicMs() + 1 },
    ttlResolution: 0,
  })
  return async (request) => {
    const lines = headerLines(request)
    const header = lines.find(({ name }) => name === 'authorization')?.value ?? ''
    const token = bearerToken(header) ?? webSocketToken(lines)
    if (token === undefined) return undefined
    const key = createHmac('sha256', secret).update(token, 'latin1').digest('base64')
    const ask = async (): Promise<Answer> => {
      const fresh = await review(options, token)
      if (options.ttlMs > 0) answers.set(key, fresh, { ttl: options.ttlMs })
      return fresh
    }
    const answer = answers.get(key) ?? (await pending.join(key, ask))
    if (answer === 'rejected') throw new StatusError('unauthorized', 'Unauthorized')
    return answer
  }
}

/** The token of an `Authorization` header; undefined for other schemes and for none. */
function bearerToken(header: string): string | undefined {
  const [scheme = '', token = ''] = header.trim().split(' ', 2)
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined
}

async function review({ post, signal }: BearerTokenOptions, token: string): Promise<Answer> {
  let answer: unknown
  try {
    answer = await post({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }, signal)
  } catch (cause) {
    throw undecided('whose token this is', cause)
  }
  const { status } = (answer ?? {}) as { status?: { authenticated?: unknown; user?: unknown; error?: unknown } }
  if (status?.authenticated !== true || (status.error ?? '') !== '') return 'rejected'
  return userFrom(status.user) ?? 'rejected'
}

/** Undefined for an identity without a name or of another shape: nobody may become somebody by accident. */
function userFrom(value: unknown): UserInfo | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { username, uid = '', groups = [], extra = {} } = value as Readonly<Record<string, unknown>>
  if (typeof username !== 'string' || username === '' || typeof uid !== 'string') return undefined
  if (!isTexts(groups) || typeof extra !== 'object' || extra === null) return undefined
  if (!Object.values(extra).every(isTexts)) return undefined
  return { name: username, uid, groups, extra: extra as UserInfo['extra'] }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}

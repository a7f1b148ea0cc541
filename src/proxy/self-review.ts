/**
 * Self reviews: POSTs that ask what the caller itself may do or is (`kubectl auth can-i`, `auth whoami`), and write nothing.
 */
import type { IncomingMessage } from 'node:http'
import { sendBytes } from '../http/answer.ts'
import { badRequest, StatusError } from '../kube/status-error.ts'
import type { ProxyRequest } from './plugin.ts'

const SELF_REVIEWS: ReadonlySet<string> = new Set([
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
  '/apis/authentication.k8s.io/v1/selfsubjectreviews',
])

/** A review is a few hundred bytes. */
const MAX_BYTES = 64 * 1024

export function isSelfReview({ path, request }: ProxyRequest): boolean {
  return request.method === 'POST' && SELF_REVIEWS.has(path)
}

/** The body, to be forwarded as it is. Throws `requestEntityTooLarge`. */
export async function reviewBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_BYTES) {
      throw new StatusError('requestEntityTooLarge', `a review has at most ${MAX_BYTES} bytes`, { details: {} })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

interface Review {
  readonly kind?: unknown
  readonly spec?: {
    readonly resourceAttributes?: { readonly verb?: unknown }
    readonly nonResourceAttributes?: { readonly verb?: unknown }
  }
}

const READS = ['get', 'list', 'watch']

/**
 * Answers for the one user of `demo` and `up`: through this server everything may be read and nothing changed. What each
 * member allows is the member's to say when it is asked.
 */
export async function answerReadOnlyReview(request: ProxyRequest): Promise<void> {
  const review = parse(await reviewBody(request.request.incoming))
  const answer = JSON.stringify({ ...review, status: statusOf(review, request) })
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-cache, private' }
  await sendBytes(request, { status: 201, headers }, Buffer.from(answer))
}

function parse(body: Buffer): Review {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Told below.
  }
  throw badRequest('the body of a review must be a JSON object')
}

function statusOf({ kind, spec }: Review, { request: { user } }: ProxyRequest): object {
  switch (kind) {
    case 'SelfSubjectAccessReview': {
      const verb = (spec?.resourceAttributes ?? spec?.nonResourceAttributes)?.verb
      const allowed = typeof verb === 'string' && READS.includes(verb)
      return allowed ? { allowed } : { allowed, reason: 'this server is read-only' }
    }
    case 'SelfSubjectRulesReview':
      return {
        resourceRules: [{ verbs: READS, apiGroups: ['*'], resources: ['*'] }],
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['*'] }],
        incomplete: false,
      }
    case 'SelfSubjectReview':
      return { userInfo: { username: user.name, groups: user.groups } }
    default:
      throw badRequest(`no review of kind ${JSON.stringify(kind)} is known here`)
  }
}

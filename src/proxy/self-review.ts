/**
 * Self reviews: POSTs that ask what the caller itself may do or is (`kubectl auth can-i`, `auth whoami`), and write nothing.
 */
import type { IncomingMessage } from 'node:http'
import { sendBytes } from '../http/answer.ts'
import { readBytes } from '../http/request-body.ts'
import type { Review } from '../kube/self-review.ts'
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
export function reviewBody(incoming: IncomingMessage): Promise<Buffer> {
  return readBytes(incoming, MAX_BYTES)
}

/** The review with its answer. */
export async function sendReview(request: ProxyRequest, review: Review, status: object): Promise<void> {
  const answer = JSON.stringify({ ...review, status })
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-cache, private' }
  await sendBytes(request, { status: 201, headers }, Buffer.from(answer))
}

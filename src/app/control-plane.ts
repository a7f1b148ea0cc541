/** What `serve` asks of the control plane: who callers are, what they may do, and what it serves itself. */
import type { PostReview } from '../apiserver/review.ts'
import type { ReviewMetrics } from '../apiserver/review-metrics.ts'
import { inClusterClient, kubeconfigClient } from '../fleet/kubeconfig/context-client.ts'
import type { MemberClient } from '../fleet/member.ts'
import type { Clock } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import type { Environment } from './options/environment.ts'

export interface ClientLimits {
  readonly qps: number
  readonly burst: number
}

/**
 * Of reviews: these decide how many callers can be served, so that they are high, and each kind has its own, so that a flood
 * of invented tokens does not hold up the rights of others. Source: apiserver pkg/server/options/authentication.go.
 */
export const REVIEW_LIMITS: ClientLimits = { qps: 200, burst: 400 }

/** Rejects where `kubeconfig` cannot be used, or there is none outside of a cluster. */
export async function controlPlaneClient(
  limits: ClientLimits,
  kubeconfig: string | undefined,
  environment: Environment,
  clock: Clock,
): Promise<MemberClient> {
  const options = { clock, environment, ...limits }
  if (kubeconfig !== undefined) return kubeconfigClient([kubeconfig], undefined, options)
  const client = inClusterClient(options)
  if (client === undefined) throw new Error('no --kubeconfig, and not inside a cluster')
  return client
}

/** Of who limits itself. */
export const NO_LIMITS: ClientLimits = { qps: 0, burst: 0 }

export const SUBJECT_ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
export const TOKEN_REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'

/** A review that takes longer, repetitions included, is no answer: the request is refused. */
const REVIEW_TIMEOUT_MS = 10_000
/** Between two tries; a control plane that restarts answers again after the second or third. */
const RETRY_MS = [100, 500, 1_500, 3_000]
const MAX_ANSWER_BYTES = 1024 * 1024

export interface ReviewPosterOptions {
  readonly client: MemberClient
  readonly path: string
  readonly metrics: ReviewMetrics
  readonly clock: Clock
}

/** Tries again where the control plane cannot be reached or does not know (5xx, 429); a review changes nothing. */
export function reviewPoster({ client, path, metrics, clock }: ReviewPosterOptions): PostReview {
  return async (review, stop) => {
    const deadline = new AbortController()
    const cancel = clock.setTimeout(() => {
      deadline.abort(new Error('the control plane took too long'))
    }, REVIEW_TIMEOUT_MS)
    const signal = AbortSignal.any([stop, deadline.signal])
    const startedMs = clock.monotonicMs()
    let code = '<error>'
    try {
      const answer = await askAgain(RETRY_MS, clock, signal, () => post(client, path, review, signal))
      code = String(answer.status)
      if (answer.status >= 300) throw new Error(`the control plane answered ${answer.status} to a review`)
      return answer.body
    } finally {
      cancel()
      metrics.ended(code, (clock.monotonicMs() - startedMs) / 1000)
    }
  }
}

interface ReviewAnswer {
  readonly status: number
  /** Parsed; undefined of a refusal. */
  readonly body: unknown
}

async function askAgain(
  waits: readonly number[],
  clock: Clock,
  signal: AbortSignal,
  ask: () => Promise<ReviewAnswer>,
): Promise<ReviewAnswer> {
  for (const waitMs of waits) {
    try {
      const answer = await ask()
      if (answer.status < 500 && answer.status !== 429) return answer
    } catch (error) {
      if (signal.aborted) throw error
    }
    await sleep(waitMs, clock, signal)
  }
  return ask()
}

async function post(client: MemberClient, path: string, review: object, signal: AbortSignal): Promise<ReviewAnswer> {
  const answer = await client.request({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(review),
    headersTimeoutMs: REVIEW_TIMEOUT_MS,
    signal,
  })
  const bytes = await answer.bytes(MAX_ANSWER_BYTES)
  const { status } = answer
  return { status, body: status < 300 ? (JSON.parse(bytes.toString('utf8')) as unknown) : undefined }
}

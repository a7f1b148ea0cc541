/** What `serve` asks of the control plane: reviews of rights, and what it serves itself. */
import type { PostReview } from '../apiserver/authz/subject-access-review.ts'
import { inClusterClient, kubeconfigClient } from '../fleet/kubeconfig/context-client.ts'
import type { MemberClient } from '../fleet/member.ts'
import type { Clock } from '../util/clock.ts'
import type { Environment, ServeConfig } from './options/config.ts'

/** Rejects where `--kubeconfig` cannot be used, or there is none outside of a cluster. */
export async function controlPlaneClient(
  config: Pick<ServeConfig, 'kubeApiQps' | 'kubeApiBurst'>,
  kubeconfig: string | undefined,
  environment: Environment,
  clock: Clock,
): Promise<MemberClient> {
  const options = { clock, environment, qps: config.kubeApiQps, burst: config.kubeApiBurst }
  if (kubeconfig !== undefined) return kubeconfigClient([kubeconfig], undefined, options)
  const client = inClusterClient(options)
  if (client === undefined) throw new Error('no --kubeconfig, and not inside a cluster')
  return client
}

const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
/** A review that takes longer is no answer: the request is refused. */
const REVIEW_TIMEOUT_MS = 10_000

export function postReviewTo(client: MemberClient): PostReview {
  return async (review, signal) => {
    const answer = await client.request({
      method: 'POST',
      path: REVIEWS,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(review),
      headersTimeoutMs: REVIEW_TIMEOUT_MS,
      signal,
    })
    const body = await answer.bytes(1024 * 1024)
    if (answer.status >= 300) throw new Error(`the control plane answered a SubjectAccessReview with ${answer.status}`)
    return JSON.parse(body.toString('utf8')) as unknown
  }
}

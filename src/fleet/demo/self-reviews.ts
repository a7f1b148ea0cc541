/** Self reviews of a simulated cluster: whoever asks may read everything. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBytes } from '../../http/request-body.ts'
import { parseReview, type Review } from '../../kube/self-review.ts'
import { badRequest } from '../../kube/status-error.ts'
import { sendJson } from './answer.ts'

const PATH = /^\/apis\/(authorization|authentication)\.k8s\.io\/v1\/selfsubject(access|rules)?reviews$/
const MAX_BYTES = 64 * 1024
const READS = ['get', 'list', 'watch']

/** False for any other request. */
export async function sendSelfReview(request: IncomingMessage, url: URL, response: ServerResponse): Promise<boolean> {
  if (request.method !== 'POST' || !PATH.test(url.pathname)) return false
  const review = parseReview(await readBytes(request, MAX_BYTES), url.pathname)
  sendJson(response, 201, { ...review, status: statusOf(review) })
  return true
}

function statusOf({ kind, spec }: Review): object {
  switch (kind) {
    case 'SelfSubjectAccessReview': {
      const { verb } = spec?.resourceAttributes ?? spec?.nonResourceAttributes ?? {}
      return { allowed: typeof verb === 'string' && READS.includes(verb) }
    }
    case 'SelfSubjectRulesReview':
      return {
        resourceRules: [{ verbs: READS, apiGroups: ['*'], resources: ['*'] }],
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['*'] }],
        incomplete: false,
      }
    case 'SelfSubjectReview':
      return { userInfo: { username: 'demo', groups: ['system:authenticated'] } }
    default:
      throw badRequest(`no review of kind ${JSON.stringify(kind)} is known here`)
  }
}

/**
 * Whether a member decides by RBAC alone, so far as it can be told from outside.
 *
 * - A SelfSubjectRulesReview is `incomplete` where an authorizer cannot enumerate rights: a webhook, which may also deny
 *   what RBAC allows. (The Node authorizer says so to nodes alone.)
 * - Somebody whom no binding can name is allowed nothing by RBAC, and everything by AlwaysAllow.
 *
 * Grants of ABAC beside RBAC are not told apart: they are missed, never invented.
 */
import type { MemberClient } from '../fleet/member.ts'
import type { Random } from '../util/clock.ts'
import { postReview, ReviewError } from './access-reviews.ts'

export type AuthorizerKind = 'rbac' | 'other'

const RULES = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews'
const ACCESS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'

/** Rejects with `ReviewError` where the member does not answer. */
export async function probeAuthorizer(
  client: Pick<MemberClient, 'request'>,
  random: Random,
  signal: AbortSignal,
): Promise<AuthorizerKind> {
  const rules = await postReview(client, RULES, rulesReview(), signal)
  if (rules['incomplete'] !== false) return 'other'
  return (await allowsStrangers(client, random, signal)) ? 'other' : 'rbac'
}

function rulesReview(): object {
  return { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace: 'default' } }
}

async function allowsStrangers(
  client: Pick<MemberClient, 'request'>,
  random: Random,
  signal: AbortSignal,
): Promise<boolean> {
  const user = `fleetsearch:stranger:${Math.floor(random() * 2 ** 48).toString(36)}`
  const resourceAttributes = { verb: 'list', group: '', resource: 'secrets' }
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, groups: [], resourceAttributes },
  }
  try {
    return (await postReview(client, ACCESS, review, signal))['allowed'] === true
  } catch (error) {
    // Whoever may not even ask is no customer of AlwaysAllow.
    if (error instanceof ReviewError && error.http === 403) return false
    throw error
  }
}

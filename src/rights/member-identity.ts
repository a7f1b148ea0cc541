/**
 * Who a caller of the control plane is in a member: name and groups as an impersonated request would have them there.
 * Source: apiserver pkg/endpoints/filters/impersonation, pkg/authentication/serviceaccount/util.go.
 */
import { createHash } from 'node:crypto'
import type { UserInfo } from '../http/api-request.ts'

export interface MemberIdentity {
  readonly name: string
  /** Without duplicates, sorted. */
  readonly groups: readonly string[]
  /** Equal for equal name and groups; short. */
  readonly key: string
}

export const MASTERS = 'system:masters'
const AUTHENTICATED = 'system:authenticated'
const UNAUTHENTICATED = 'system:unauthenticated'
const ANONYMOUS = 'system:anonymous'
const ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/
const ACCOUNTS = 'system:serviceaccounts'

/** A longer key is remembered by its hash: users may have hundreds of groups. */
const MAX_KEY = 200

/**
 * The groups that every member adds by itself are not taken over from here. Extras and UID are left out: RBAC does not look
 * at them, and they are not forwarded either.
 */
export function memberIdentity({ name, groups }: Pick<UserInfo, 'name' | 'groups'>): MemberIdentity {
  const own = new Set(groups.filter((group) => group !== AUTHENTICATED && group !== UNAUTHENTICATED))
  for (const group of accountGroups(name, own)) own.add(group)
  own.add(name === ANONYMOUS ? UNAUTHENTICATED : AUTHENTICATED)
  const sorted = [...own].sort()
  const text = JSON.stringify([name, ...sorted])
  const key = text.length <= MAX_KEY ? text : createHash('sha256').update(text).digest('base64')
  return { name, groups: sorted, key }
}

/** A service account that has no other groups than those of service accounts is sent without any, and gets these. */
function accountGroups(name: string, groups: ReadonlySet<string>): readonly string[] {
  const [, namespace] = ACCOUNT.exec(name) ?? []
  if (namespace === undefined) return []
  const implied = [ACCOUNTS, `${ACCOUNTS}:${namespace}`]
  return [...groups].every((group) => implied.includes(group)) ? implied : []
}

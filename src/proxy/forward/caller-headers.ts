/**
 * The headers that make a forwarded request the caller's. A kubeconfig's own credentials are the caller's already; everywhere
 * else the request impersonates.
 */
import type { UserInfo } from '../../http/api-request.ts'
import { impersonationHeaders } from '../impersonation.ts'
import type { Destination } from './destination.ts'
import type { HeldPrivileges } from './held-privileges.ts'

type Headers = Record<string, string | string[]>

/** Rejects with `forbidden` for a caller without a name. */
export async function callerHeaders(
  user: UserInfo,
  { identity, client, takesWholeIdentity }: Destination,
  privileges: HeldPrivileges,
): Promise<Headers> {
  if (identity === 'own') return {}
  if (takesWholeIdentity) return impersonationHeaders(user)
  const groups = isPlainServiceAccount(user) ? [] : user.groups
  const uid = user.uid !== '' && (await privileges.holds(client, { resource: 'uids', subresource: '' })) ? user.uid : ''
  const extra: Record<string, readonly string[]> = {}
  for (const [key, values] of Object.entries(user.extra)) {
    if (await privileges.holds(client, { resource: 'userextras', subresource: key })) extra[key] = values
  }
  return impersonationHeaders({ name: user.name, groups, uid, extra })
}

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):[^:]+$/
const IMPLIED = ['system:authenticated', 'system:unauthenticated', 'system:serviceaccounts']

/** The member adds the groups of a service account by itself, if no others are named. */
function isPlainServiceAccount({ name, groups }: UserInfo): boolean {
  const namespace = SERVICE_ACCOUNT.exec(name)?.[1]
  if (namespace === undefined) return false
  return groups.every((group) => IMPLIED.includes(group) || group === `system:serviceaccounts:${namespace}`)
}

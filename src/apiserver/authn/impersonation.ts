/**
 * `Impersonate-User`, `-Group`, `-Uid` and `-Extra-*` on incoming requests: the caller acts as somebody else, where each part
 * of that identity is allowed to him by the control plane. Never ignored, and never handed on.
 * Source: apiserver pkg/endpoints/filters/impersonation/impersonation.go. Left out: constrained impersonation, which is alpha.
 */
import type { IncomingMessage } from 'node:http'
import type { UserInfo } from '../../http/api-request.ts'
import { forbidden } from '../../http/forbidden.ts'
import { badRequest } from '../../kube/status-error.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { ResourceAttributes } from '../request-info.ts'
import { ANONYMOUS, AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP } from './authenticator.ts'
import { headerKey, headerLines, headerText } from './header-lines.ts'
import { parseServiceAccount, serviceAccountGroups } from './service-account.ts'

const PREFIX = 'impersonate-'
const EXTRA_PREFIX = 'impersonate-extra-'
const AUTHENTICATION = { group: 'authentication.k8s.io', version: 'v1' }
const CORE = { group: '', version: 'v1' }

/** Who the caller wants to be; undefined where he asks for nothing. Throws `badRequest` for half an identity. */
export function wantedIdentity(request: IncomingMessage): UserInfo | undefined {
  const lines = headerLines(request).filter(({ name }) => name.startsWith(PREFIX))
  if (lines.length === 0) return undefined
  const extra = Object.create(null) as Record<string, string[]>
  const groups: string[] = []
  let name = ''
  let uid = ''
  for (const line of lines) {
    const value = headerText(line.value)
    if (line.name === 'impersonate-user') name ||= value
    else if (line.name === 'impersonate-uid') uid ||= value
    else if (line.name === 'impersonate-group') groups.push(value)
    else if (line.name.startsWith(EXTRA_PREFIX)) (extra[headerKey(line.name, EXTRA_PREFIX)] ??= []).push(value)
    else throw badRequest(`the header ${line.name} is not known`)
  }
  if (name === '') throw badRequest('impersonation of groups, extras or a uid needs a user: Impersonate-User is empty')
  return { name, uid, groups, extra }
}

/** The identity the request goes on with. Throws `forbidden` where a part of it is not allowed to the caller. */
export async function impersonate(
  caller: UserInfo,
  request: IncomingMessage,
  authorize: Authorizer,
  signal: AbortSignal,
): Promise<UserInfo> {
  const wanted = wantedIdentity(request)
  if (wanted === undefined) return caller
  for (const attributes of rightsNeeded(wanted)) {
    const decision = await authorize(caller, { isResource: true, ...attributes }, signal)
    if (!decision.allowed) throw forbidden(caller, attributes, decision.reason)
  }
  return { ...wanted, groups: effectiveGroups(wanted) }
}

function rightsNeeded({ name, uid, groups, extra }: UserInfo): ResourceAttributes[] {
  const right = (resource: string, of: string, more: Partial<ResourceAttributes> = CORE): ResourceAttributes => ({
    verb: 'impersonate',
    ...CORE,
    resource,
    subresource: '',
    name: of,
    ...more,
  })
  const account = parseServiceAccount(name)
  return [
    account === undefined
      ? right('users', name)
      : right('serviceaccounts', account.name, { namespace: account.namespace }),
    ...groups.map((group) => right('groups', group)),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => right('userextras', value, { ...AUTHENTICATION, subresource: key })),
    ),
    ...(uid === '' ? [] : [right('uids', uid, AUTHENTICATION)]),
  ]
}

/** A service account's groups are known where none are named; who is not anonymous is authenticated, unless said otherwise. */
function effectiveGroups({ name, groups }: UserInfo): readonly string[] {
  const account = parseServiceAccount(name)
  const own = account !== undefined && groups.length === 0 ? serviceAccountGroups(account) : groups
  if (name === ANONYMOUS.name) {
    return own.includes(UNAUTHENTICATED_GROUP) ? own : [...own, UNAUTHENTICATED_GROUP]
  }
  const said = own.includes(AUTHENTICATED_GROUP) || own.includes(UNAUTHENTICATED_GROUP)
  return said ? own : [...own, AUTHENTICATED_GROUP]
}

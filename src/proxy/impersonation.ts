/**
 * Headers that make a request one of the caller's instead of ours.
 * Source: client-go transport/round_trippers.go, apiserver pkg/endpoints/filters/impersonation.
 */
import type { UserInfo } from '../http/api-request.ts'
import { StatusError } from '../kube/status-error.ts'

/** Groups that a server adds by itself to whoever is authenticated; sent along they would need a right of their own. */
const IMPLIED_GROUPS: ReadonlySet<string> = new Set(['system:authenticated', 'system:unauthenticated'])

/** Names a session of the caller's own credential, and says nothing of who the caller is. */
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id'

/** Throws `forbidden` for a caller without a name: acting as ourselves instead is never right. */
export function impersonationHeaders(user: UserInfo): Record<string, string | string[]> {
  if (user.name === '') throw new StatusError('forbidden', 'the request has no identity to be forwarded with')
  const groups = user.groups.filter((group) => !IMPLIED_GROUPS.has(group))
  const headers: Record<string, string | string[]> = { 'impersonate-user': headerText(user.name) }
  if (groups.length > 0) headers['impersonate-group'] = groups.map(headerText)
  if (user.uid !== '') headers['impersonate-uid'] = headerText(user.uid)
  for (const [key, values] of Object.entries(user.extra)) {
    if (key === CREDENTIAL_ID || values.length === 0) continue
    headers[`impersonate-extra-${extraKey(key)}`] = values.map(headerText)
  }
  return headers
}

/** UTF-8 as the bytes that go over the wire; Node writes header values as latin1. Line breaks cannot be sent. */
function headerText(text: string): string {
  if (/[\r\n\0]/.test(text)) throw new StatusError('forbidden', 'the identity has a name that cannot be forwarded')
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** What no header's name may hold is percent-encoded, `%` too. */
function extraKey(key: string): string {
  const bytes = Buffer.from(key.toLowerCase(), 'utf8').toString('latin1')
  return bytes.replace(
    /[^a-z0-9!#$&'*+.^_`|~-]/g,
    (c) => `%${c.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`,
  )
}

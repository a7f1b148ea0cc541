/** Who is asking. Authenticators are tried in order; the first that knows the caller wins. */
import type { IncomingMessage } from 'node:http'
import type { UserInfo } from '../../http/api-request.ts'

/**
 * The caller's identity; undefined: not known here, ask the next. Throws `StatusError` to refuse outright: credentials that
 * are wrong (`unauthorized`), or that nobody can check now.
 */
export type Authenticator = (request: IncomingMessage) => UserInfo | undefined | Promise<UserInfo | undefined>

export const AUTHENTICATED_GROUP = 'system:authenticated'
export const UNAUTHENTICATED_GROUP = 'system:unauthenticated'

export const ANONYMOUS: UserInfo = { name: 'system:anonymous', uid: '', groups: [UNAUTHENTICATED_GROUP], extra: {} }

/** Every identity that was established belongs to `system:authenticated`, whoever vouched for it. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  if (user.groups.includes(AUTHENTICATED_GROUP)) return user
  return { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] }
}

/** Tries each in turn. */
export function firstOf(authenticators: readonly Authenticator[]): Authenticator {
  return async (request) => {
    for (const authenticate of authenticators) {
      const user = await authenticate(request)
      if (user !== undefined) return withAuthenticatedGroup(user)
    }
    return undefined
  }
}

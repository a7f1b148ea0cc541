/** Who is asking. Authenticators are tried in order; the first that knows the caller wins. */
import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import type { UserInfo } from '../../http/api-request.ts'

/** The caller's identity; undefined: not known here, ask the next. Throws `StatusError` to refuse outright. */
export type Authenticator = (request: IncomingMessage) => UserInfo | undefined | Promise<UserInfo | undefined>

export const AUTHENTICATED_GROUP = 'system:authenticated'

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

export interface PresentedChain {
  readonly leaf: X509Certificate
  readonly intermediates: readonly X509Certificate[]
}

/** The certificate a TLS client proved to hold, with what it sent along; undefined without one. Not yet verified. */
export function presentedChain(request: IncomingMessage): PresentedChain | undefined {
  const socket = request.socket
  if (!(socket instanceof TLSSocket)) return undefined
  const leaf = socket.getPeerX509Certificate()
  if (leaf === undefined) return undefined
  const intermediates: X509Certificate[] = []
  for (
    let next = leaf.issuerCertificate;
    next !== undefined && intermediates.length < 8;
    next = next.issuerCertificate
  ) {
    intermediates.push(next)
    if (next.issuerCertificate === next) break
  }
  return { leaf, intermediates }
}

/** Values of a subject attribute, in order (`CN`, `O`). */
export function subjectValues(certificate: X509Certificate, attribute: 'CN' | 'O'): string[] {
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<Record<string, string | string[]>>
  const value = subject[attribute]
  if (value === undefined) return []
  return Array.isArray(value) ? value : [value]
}

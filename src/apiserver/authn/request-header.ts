/**
 * Identity in request headers, trusted only from the front proxy: a client certificate that chains to the front-proxy CA
 * (and to no other pool) and bears an allowed common name. A request without such a certificate may send whatever headers
 * it likes: they mean nothing.
 * Source: apiserver pkg/authentication/request/headerrequest/requestheader.go.
 */
import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { UserInfo } from '../../http/api-request.ts'
import type { Clock } from '../../util/clock.ts'
import { presentedChain, subjectValues, type Authenticator } from './authenticator.ts'
import { verifyClientChain } from './certificate-chain.ts'

/** Header names in lower case. */
export interface RequestHeaderOptions {
  readonly roots: () => readonly X509Certificate[]
  /** Empty: any common name under the CA. */
  readonly allowedNames: readonly string[]
  readonly usernameHeaders: readonly string[]
  readonly uidHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly extraHeaderPrefixes: readonly string[]
  readonly clock: Clock
}

export function requestHeaderAuthenticator(options: RequestHeaderOptions): Authenticator {
  return (request) => {
    if (!fromFrontProxy(request, options)) return undefined
    return identityOf(request, options)
  }
}

function fromFrontProxy(request: IncomingMessage, options: RequestHeaderOptions): boolean {
  const chain = presentedChain(request)
  if (chain === undefined) return false
  if (!verifyClientChain(chain.leaf, chain.intermediates, options.roots(), options.clock.nowMs())) return false
  if (options.allowedNames.length === 0) return true
  const [name] = subjectValues(chain.leaf, 'CN')
  return name !== undefined && options.allowedNames.includes(name)
}

function identityOf(request: IncomingMessage, options: RequestHeaderOptions): UserInfo | undefined {
  const headers = request.headersDistinct
  const name = firstValue(headers, options.usernameHeaders)
  if (name === undefined) return undefined
  return {
    name,
    uid: firstValue(headers, options.uidHeaders) ?? '',
    groups: options.groupHeaders.flatMap((header) => headers[header] ?? []),
    extra: extras(headers, options.extraHeaderPrefixes),
  }
}

type Headers = IncomingMessage['headersDistinct']

/** The first header of the list that has a value; later ones are alternatives. */
function firstValue(headers: Headers, names: readonly string[]): string | undefined {
  return names.map((name) => headers[name]?.[0]).find((value) => value !== undefined && value !== '')
}

function extras(headers: Headers, prefixes: readonly string[]): Record<string, readonly string[]> {
  const result: Record<string, readonly string[]> = Object.create(null) as Record<string, readonly string[]>
  for (const [header, values] of Object.entries(headers)) {
    const prefix = prefixes.find((candidate) => header.startsWith(candidate))
    if (prefix === undefined || values === undefined) continue
    // Keys are percent-encoded by the front proxy, since header names cannot hold every character.
    const key = decodeKey(header.slice(prefix.length))
    result[key] = [...(result[key] ?? []), ...values]
  }
  return result
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

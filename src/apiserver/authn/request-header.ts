/**
 * Identity in request headers, trusted only from the front proxy: a client certificate that chains to the front-proxy CA
 * (and to no other pool) and bears an allowed common name. A request without such a certificate may send whatever headers
 * it likes: they mean nothing.
 * Source: apiserver pkg/authentication/request/headerrequest/requestheader.go.
 */
import type { IncomingMessage } from 'node:http'
import type { UserInfo } from '../../http/api-request.ts'
import type { Clock } from '../../util/clock.ts'
import type { Authenticator } from './authenticator.ts'
import { ChainVerifier } from './certificate-chain.ts'
import { headerKey, headerLines, headerText, type HeaderLine } from './header-lines.ts'
import { presentedChain, subjectValues } from './presented-chain.ts'
import type { FrontProxyTrust, TrustSource } from './trust.ts'

export function requestHeaderAuthenticator(trust: TrustSource, clock: Clock): Authenticator {
  const verifier = new ChainVerifier()
  return (request) => {
    const { frontProxy } = trust()
    if (frontProxy === undefined || !comesFrom(frontProxy, request, verifier, clock)) return undefined
    return identityOf(headerLines(request), frontProxy)
  }
}

function comesFrom(proxy: FrontProxyTrust, request: IncomingMessage, verifier: ChainVerifier, clock: Clock): boolean {
  const chain = presentedChain(request)
  if (chain === undefined || !verifier.verify(chain, proxy.roots, clock.nowMs())) return false
  if (proxy.allowedNames.length === 0) return true
  const [name] = subjectValues(chain.leaf, 'CN')
  return name !== undefined && proxy.allowedNames.includes(name)
}

function identityOf(lines: readonly HeaderLine[], proxy: FrontProxyTrust): UserInfo | undefined {
  const name = firstValue(lines, proxy.usernameHeaders)
  if (name === undefined) return undefined
  return {
    name,
    uid: firstValue(lines, proxy.uidHeaders) ?? '',
    groups: proxy.groupHeaders.flatMap((header) => valuesOf(lines, header)),
    extra: extras(lines, proxy.extraHeaderPrefixes),
  }
}

/** The first header of the list that has a value; later ones are alternatives. */
function firstValue(lines: readonly HeaderLine[], names: readonly string[]): string | undefined {
  for (const name of names) {
    // As Go's Header.Get: of repeated lines the first one counts, and where that is empty the next name does.
    const value = lines.find((line) => line.name === name)?.value
    if (value !== undefined && value !== '') return headerText(value)
  }
  return undefined
}

function valuesOf(lines: readonly HeaderLine[], name: string): string[] {
  return lines.filter((line) => line.name === name && line.value !== '').map(({ value }) => headerText(value))
}

function extras(lines: readonly HeaderLine[], prefixes: readonly string[]): Record<string, readonly string[]> {
  const result: Record<string, readonly string[]> = Object.create(null) as Record<string, readonly string[]>
  for (const prefix of prefixes) {
    for (const { name, value } of lines) {
      if (!name.startsWith(prefix)) continue
      const key = headerKey(name, prefix)
      result[key] = [...(result[key] ?? []), headerText(value)]
    }
  }
  return result
}

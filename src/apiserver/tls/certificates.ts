/**
 * The certificates a server shows, by the name it is asked for, and other ones from one moment to the next: connections that
 * stand keep what they were shown.
 * Source: apiserver pkg/server/dynamiccertificates/{tlsconfig,named_certificates}.go.
 */
import { X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'

/** PEM; the certificate with its chain. */
export interface CertificatePair {
  readonly certificate: string
  readonly key: string
}

export interface NamedCertificate extends CertificatePair {
  /** Patterns (`*.example.org`, `example.org`); empty: the names in the certificate. */
  readonly names: readonly string[]
}

/** What holds for every certificate: ciphers, versions, curves. */
export type CommonTls = Pick<SecureContextOptions, 'ciphers' | 'minVersion' | 'ecdhCurve' | 'secureOptions' | 'ca'>

export class ServerCertificates {
  readonly #common: CommonTls
  readonly #listeners = new Set<(fallback: SecureContextOptions) => void>()
  #fallback: SecureContext
  #fallbackPair: CertificatePair
  #named: ReadonlyMap<string, SecureContext> = new Map()

  /** Throws where key and certificate do not belong together. */
  constructor(common: CommonTls, fallback: CertificatePair, named: readonly NamedCertificate[] = []) {
    this.#common = common
    this.#fallback = this.#context(fallback)
    this.#fallbackPair = fallback
    this.replaceNamed(named)
  }

  /** What clients are shown that name no server, or an unknown one. */
  fallback(): SecureContextOptions {
    return { ...this.#common, cert: this.#fallbackPair.certificate, key: this.#fallbackPair.key }
  }

  /** Calls back with each new fallback; returns how to stop listening. */
  onFallback(listener: (fallback: SecureContextOptions) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Throws, and changes nothing, where key and certificate do not belong together. */
  replaceFallback(pair: CertificatePair): void {
    this.#fallback = this.#context(pair)
    this.#fallbackPair = pair
    for (const listener of this.#listeners) listener(this.fallback())
  }

  /** Throws, and changes nothing, where one cannot be used. The first that names a server is used for it. */
  replaceNamed(certificates: readonly NamedCertificate[]): void {
    const loaded = certificates.map((certificate) => ({ certificate, context: this.#context(certificate) }))
    const named = new Map<string, SecureContext>()
    const add = (names: readonly string[], context: SecureContext): void => {
      for (const name of names) if (!named.has(name.toLowerCase())) named.set(name.toLowerCase(), context)
    }
    // Names that were given stand above those that are only found inside a certificate.
    for (const { certificate, context } of loaded) add(certificate.names, context)
    for (const { certificate, context } of loaded) {
      if (certificate.names.length === 0) add(namesIn(certificate.certificate), context)
    }
    this.#named = named
  }

  /** By the name in a client's hello; undefined or '' without one. */
  contextFor(serverName: string | undefined): SecureContext {
    const name = (serverName ?? '').toLowerCase()
    const exact = this.#named.get(name)
    if (exact !== undefined) return exact
    const wildcard = name.replace(/^[^.]+/, '*')
    return (name === '' ? undefined : this.#named.get(wildcard)) ?? this.#fallback
  }

  #context({ certificate, key }: CertificatePair): SecureContext {
    return createSecureContext({ ...this.#common, cert: certificate, key })
  }
}

/** DNS names and addresses a certificate is for; the common name where it has none. */
function namesIn(pem: string): string[] {
  const certificate = new X509Certificate(pem)
  const alternatives = (certificate.subjectAltName ?? '')
    .split(/,\s*/)
    .flatMap((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? [])
  if (alternatives.length > 0) return alternatives
  const { CN } = certificate.toLegacyObject().subject as unknown as { CN?: string | string[] }
  return CN === undefined ? [] : [CN].flat()
}

/**
 * Certificates for tests: authorities and what they sign, P-256, made in memory in about a millisecond each, so that no
 * test needs openssl. Odd ones too: expired, for the wrong purpose, of another authority.
 */
import 'reflect-metadata'
import type { webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  PemConverter,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'

export interface CertificatePair {
  readonly certPem: string
  /** PKCS #8. */
  readonly keyPem: string
}

export interface CertificateRequest {
  readonly commonName: string
  /** Kubernetes reads them as the user's groups. */
  readonly organizations?: readonly string[]
  readonly dnsNames?: readonly string[]
  readonly ips?: readonly string[]
  /** Default: both. An empty list leaves the extension out. */
  readonly usages?: readonly ('serverAuth' | 'clientAuth')[]
  /** Default: five minutes ago. */
  readonly notBefore?: Date
  /** Default: in a day. */
  readonly notAfter?: Date
}

export interface Authority extends CertificatePair {
  issue(request: CertificateRequest): Promise<CertificatePair>
  /** An intermediate authority below this one. */
  intermediate(commonName: string): Promise<Authority>
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const FIVE_MINUTES = 5 * 60_000
const DAY = 24 * 60 * 60_000

const authorityExtensions = () => [
  new BasicConstraintsExtension(true, undefined, true),
  new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign | KeyUsageFlags.digitalSignature, true),
]

/** A fresh key: for certificates, and for signing service account tokens. */
export async function newKeyPem(): Promise<{ privatePem: string; publicPem: string }> {
  const keys = await newKeys()
  return {
    privatePem: await privatePem(keys),
    publicPem: PemConverter.encode(await crypto.subtle.exportKey('spki', keys.publicKey), PemConverter.PublicKeyTag),
  }
}

/** A PKCS #10 request, as a CertificateSigningRequest carries it. */
export async function newCertificateRequestPem(commonName: string): Promise<string> {
  const keys = await newKeys()
  const name = nameOf(commonName, [])
  return pem(await Pkcs10CertificateRequestGenerator.create({ name, keys, signingAlgorithm: ALGORITHM }))
}

export async function createAuthority(commonName: string): Promise<Authority> {
  const keys = await newKeys()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: nameOf(commonName, []),
    keys,
    notBefore: new Date(Date.now() - FIVE_MINUTES),
    notAfter: new Date(Date.now() + DAY),
    signingAlgorithm: ALGORITHM,
    extensions: authorityExtensions(),
  })
  return authority(pem(certificate), keys, nameOf(commonName, []))
}

async function authority(certPem: string, keys: webcrypto.CryptoKeyPair, issuer: Name): Promise<Authority> {
  const sign = async (
    subject: Name,
    request: Pick<CertificateRequest, 'notBefore' | 'notAfter'>,
    extensions: object[],
  ) => {
    const own = await newKeys()
    const certificate = await X509CertificateGenerator.create({
      subject,
      issuer,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: ALGORITHM,
      notBefore: request.notBefore ?? new Date(Date.now() - FIVE_MINUTES),
      notAfter: request.notAfter ?? new Date(Date.now() + DAY),
      extensions: extensions as BasicConstraintsExtension[],
    })
    return { certPem: pem(certificate), own }
  }
  return {
    certPem,
    keyPem: await privatePem(keys),
    async issue(request) {
      const subject = nameOf(request.commonName, request.organizations ?? [])
      const signed = await sign(subject, request, leafExtensions(request))
      return { certPem: signed.certPem, keyPem: await privatePem(signed.own) }
    },
    async intermediate(commonName) {
      const subject = nameOf(commonName, [])
      const signed = await sign(subject, {}, authorityExtensions())
      return authority(signed.certPem, signed.own, subject)
    },
  }
}

function leafExtensions(request: CertificateRequest): object[] {
  const usages = request.usages ?? ['serverAuth', 'clientAuth']
  const names = [
    ...(request.dnsNames ?? []).map((value) => ({ type: 'dns' as const, value })),
    ...(request.ips ?? []).map((value) => ({ type: 'ip' as const, value })),
  ]
  return [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    ...(usages.length === 0 ? [] : [new ExtendedKeyUsageExtension(usages.map((usage) => ExtendedKeyUsage[usage]))]),
    ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)]),
  ]
}

function nameOf(commonName: string, organizations: readonly string[]): Name {
  return new Name([...organizations.map((organization) => ({ O: [organization] })), { CN: [commonName] }])
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>
}

async function privatePem(keys: webcrypto.CryptoKeyPair): Promise<string> {
  return `${PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), PemConverter.PrivateKeyTag)}\n`
}

/** With a line end, so that several can stand one behind the other in one file. */
function pem(certificate: { toString(format: 'pem'): string }): string {
  return `${certificate.toString('pem')}\n`
}

/** A key and a certificate that it has signed itself. */
import { webcrypto } from 'node:crypto'
import type { JsonGeneralName } from '@peculiar/x509'

export interface SelfSigned {
  /** PEM. */
  readonly certificate: string
  readonly key: string
  /** DER. */
  readonly raw: Uint8Array
}

const YEAR_MS = 365 * 24 * 3600 * 1000

/** ECDSA P-256, for servers and clients, good for a year. */
export async function selfSigned(name: string, names: JsonGeneralName[], nowMs: number): Promise<SelfSigned> {
  // Loaded only where it is needed: it costs 30 ms of a start that brings its own certificate.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(nowMs - 60_000),
    notAfter: new Date(nowMs + YEAR_MS),
    extensions: [
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      new x509.SubjectAlternativeNameExtension(names),
    ],
  })
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return {
    certificate: certificate.toString('pem'),
    key: x509.PemConverter.encode(key, x509.PemConverter.PrivateKeyTag),
    raw: new Uint8Array(certificate.rawData),
  }
}

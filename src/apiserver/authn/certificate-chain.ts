/**
 * Verifies a client certificate against one CA pool. TLS itself cannot do this for us: it merges all CAs into one pool, and
 * then nobody can tell whether the front-proxy CA or the ordinary client CA vouched for a certificate.
 * Source: Go crypto/x509 Verify with ExtKeyUsageClientAuth, as a kube-apiserver calls it.
 */
import { X509Certificate } from 'node:crypto'

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
const ANY_EXTENDED_KEY_USAGE = '2.5.29.37.0'
/** Longest chain followed, leaf excluded; real ones have one or two intermediates. */
const MAX_DEPTH = 8

/** The certificates of a PEM bundle. Throws where there is none. */
export function parseBundle(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw new Error('no certificate in the CA bundle')
  return blocks.map((block) => new X509Certificate(block))
}

/** Whether `leaf` is valid now, for client authentication, and chains up to one of `roots` through `intermediates`. */
export function verifyClientChain(
  leaf: X509Certificate,
  intermediates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  nowMs: number,
): boolean {
  if (!validAt(leaf, nowMs) || !forClients(leaf)) return false
  let current = leaf
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    if (roots.some((root) => validAt(root, nowMs) && signedBy(current, root))) return true
    const issuer = intermediates.find(
      (candidate) =>
        candidate !== current &&
        candidate.ca &&
        validAt(candidate, nowMs) &&
        forClients(candidate) &&
        signedBy(current, candidate),
    )
    if (issuer === undefined) return false
    current = issuer
  }
  return false
}

function signedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function validAt(certificate: X509Certificate, nowMs: number): boolean {
  return certificate.validFromDate.getTime() <= nowMs && nowMs <= certificate.validToDate.getTime()
}

/** A certificate that names no extended usage may be used for any. */
function forClients(certificate: X509Certificate): boolean {
  // Node calls the extended usages `keyUsage`; its types call them always present, which they are not.
  const usages = certificate.keyUsage as string[] | undefined
  if (usages === undefined || usages.length === 0) return true
  return usages.includes(CLIENT_AUTH) || usages.includes(ANY_EXTENDED_KEY_USAGE)
}

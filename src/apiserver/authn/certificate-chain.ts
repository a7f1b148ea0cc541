/**
 * Verifies a client certificate against one CA pool. TLS itself cannot do this for us: it merges all CAs into one pool, and
 * then nobody can tell whether the front-proxy CA or the ordinary client CA vouched for a certificate.
 * Source: Go crypto/x509 Verify with ExtKeyUsageClientAuth, as a kube-apiserver calls it.
 */
import { X509Certificate } from 'node:crypto'
import { MAX_INTERMEDIATES, type PresentedChain } from './presented-chain.ts'

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
const ANY_EXTENDED_KEY_USAGE = '2.5.29.37.0'
/** Signatures that can be forged; Go's verifier takes none of them. */
const BROKEN_SIGNATURE = /md[245]|sha-?1(?![0-9])/i

/** The certificates of a PEM bundle. Throws where there is none, or one that cannot be read. */
export function parseBundle(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw new Error('no certificate in the CA bundle')
  return blocks.map((block) => new X509Certificate(block))
}

/** When a chain is valid, ms since the epoch. */
export interface Validity {
  readonly fromMs: number
  readonly toMs: number
}

/**
 * Whether `leaf` is for client authentication and chains up to one of `roots` through `intermediates`, all of them valid now:
 * undefined where it does not, else how long that stays true.
 */
export function verifyClientChain(
  { leaf, intermediates }: PresentedChain,
  roots: readonly X509Certificate[],
  nowMs: number,
): Validity | undefined {
  let current = leaf
  let validity = validityOf(leaf)
  if (!holds(validity, nowMs) || !forClients(leaf)) return undefined
  for (let depth = 0; depth <= MAX_INTERMEDIATES; depth++) {
    const root = roots.find((candidate) => holds(validityOf(candidate), nowMs) && signedBy(current, candidate))
    if (root !== undefined) return both(validity, validityOf(root))
    const issuer = intermediates.find(
      (candidate) =>
        candidate !== current &&
        candidate.ca &&
        holds(validityOf(candidate), nowMs) &&
        forClients(candidate) &&
        signedBy(current, candidate),
    )
    if (issuer === undefined) return undefined
    validity = both(validity, validityOf(issuer))
    current = issuer
  }
  return undefined
}

/** A refusal is thought over after this: a certificate may become valid. */
const REFUSED_MS = 10_000

/** Verifies the chains of connections and remembers what came out: until they expire, or the roots are other ones. */
export class ChainVerifier {
  readonly #known = new WeakMap<PresentedChain, Verdict>()

  /** `roots` must be another array when they change. */
  verify(chain: PresentedChain, roots: readonly X509Certificate[], nowMs: number): boolean {
    const known = this.#known.get(chain)
    if (known?.roots === roots && holds(known.validity, nowMs)) return known.trusted
    const validity = verifyClientChain(chain, roots, nowMs)
    const trusted = validity !== undefined
    this.#known.set(chain, { roots, trusted, validity: validity ?? { fromMs: nowMs, toMs: nowMs + REFUSED_MS } })
    return trusted
  }
}

interface Verdict {
  readonly roots: readonly X509Certificate[]
  readonly trusted: boolean
  readonly validity: Validity
}

function signedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  if (BROKEN_SIGNATURE.test(certificate.signatureAlgorithm ?? '')) return false
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function validityOf(certificate: X509Certificate): Validity {
  return { fromMs: certificate.validFromDate.getTime(), toMs: certificate.validToDate.getTime() }
}

const holds = ({ fromMs, toMs }: Validity, nowMs: number): boolean => fromMs <= nowMs && nowMs <= toMs

const both = (a: Validity, b: Validity): Validity => ({
  fromMs: Math.max(a.fromMs, b.fromMs),
  toMs: Math.min(a.toMs, b.toMs),
})

/** A certificate that names no extended usage may be used for any. */
function forClients(certificate: X509Certificate): boolean {
  // Node calls the extended usages `keyUsage`; its types call them always present, which they are not.
  const usages = certificate.keyUsage as string[] | undefined
  if (usages === undefined || usages.length === 0) return true
  return usages.includes(CLIENT_AUTH) || usages.includes(ANY_EXTENDED_KEY_USAGE)
}

/** Ordinary client certificates: the common name is the user, the organisations are its groups. */
import type { Clock } from '../../util/clock.ts'
import type { Authenticator } from './authenticator.ts'
import { ChainVerifier } from './certificate-chain.ts'
import { presentedChain, subjectValues } from './presented-chain.ts'
import type { TrustSource } from './trust.ts'

/** Accepts certificates that chain to the client CA, never the front proxy's. */
export function x509Authenticator(trust: TrustSource, clock: Clock): Authenticator {
  const verifier = new ChainVerifier()
  return (request) => {
    const chain = presentedChain(request)
    if (chain === undefined || !verifier.verify(chain, trust().clientRoots, clock.nowMs())) return undefined
    const [name] = subjectValues(chain.leaf, 'CN')
    if (name === undefined || name === '') return undefined
    return { name, uid: '', groups: subjectValues(chain.leaf, 'O'), extra: {} }
  }
}

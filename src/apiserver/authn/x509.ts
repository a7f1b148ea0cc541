/** Ordinary client certificates: the common name is the user, the organisations are its groups. */
import type { X509Certificate } from 'node:crypto'
import type { Clock } from '../../util/clock.ts'
import { presentedChain, subjectValues, type Authenticator } from './authenticator.ts'
import { verifyClientChain } from './certificate-chain.ts'

/** Accepts certificates that chain to `roots` (the client CA, never the front proxy's). */
export function x509Authenticator(roots: () => readonly X509Certificate[], clock: Clock): Authenticator {
  return (request) => {
    const chain = presentedChain(request)
    if (chain === undefined || !verifyClientChain(chain.leaf, chain.intermediates, roots(), clock.nowMs()))
      return undefined
    const [name] = subjectValues(chain.leaf, 'CN')
    if (name === undefined || name === '') return undefined
    return { name, uid: '', groups: subjectValues(chain.leaf, 'O'), extra: {} }
  }
}

/** Who may vouch for callers, as of now. Two pools that are never merged: nobody could tell them apart again. */
import type { X509Certificate } from 'node:crypto'

export interface Trust {
  /** CAs of ordinary client certificates; empty: no certificate is accepted. */
  readonly clientRoots: readonly X509Certificate[]
  /** Undefined: request headers are nobody's identity. */
  readonly frontProxy: FrontProxyTrust | undefined
}

/** Header names in lower case. */
export interface FrontProxyTrust {
  readonly roots: readonly X509Certificate[]
  /** Empty: any common name under the CA. */
  readonly allowedNames: readonly string[]
  readonly usernameHeaders: readonly string[]
  readonly uidHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly extraHeaderPrefixes: readonly string[]
}

/** Asked for each request, so that what rotates takes effect at once. Parts that did not change stay the same objects. */
export type TrustSource = () => Trust

export const NO_TRUST: Trust = { clientRoots: [], frontProxy: undefined }

import { rootCertificates } from 'node:tls'

/** The system's authorities and one more: what TLS takes as `ca` replaces them. */
export function trusted(ca: string): string[] {
  return [...rootCertificates, ca]
}

/** TLS for a server of a test: a certificate for 127.0.0.1 of its own authority, and the defaults of `serve`. */
import { commonTls, type TlsOptions } from '../../src/apiserver/server.ts'
import { cipherChoice } from '../../src/apiserver/tls/cipher-suites.ts'
import { ServerCertificates } from '../../src/apiserver/tls/certificates.ts'
import { createAuthority } from './certificates.ts'

export async function testTls(overrides: Partial<TlsOptions> = {}): Promise<TlsOptions> {
  return (await trustedTls(overrides)).tls
}

/** The same with the CA that clients need to trust it. */
export async function trustedTls(
  overrides: Partial<TlsOptions> = {},
): Promise<{ readonly tls: TlsOptions; readonly caPem: string }> {
  const authority = await createAuthority('servers')
  const pair = await authority.issue({ commonName: 'server', ips: ['127.0.0.1'] })
  const common = commonTls('TLSv1.2', cipherChoice([]).ciphers, undefined)
  const tls = {
    certificates: new ServerCertificates(common, { certificate: pair.certPem, key: pair.keyPem }),
    http2: true,
    http2MaxStreams: 0,
    goawayChance: 0,
    random: () => 1,
    ...overrides,
  }
  return { tls, caPem: authority.certPem }
}

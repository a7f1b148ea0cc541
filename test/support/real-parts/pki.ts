/** Everything a kube-apiserver needs to trust and be trusted, written into one folder. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createAuthority, newKeyPem, type Authority, type CertificatePair } from '../certificates.ts'

export interface Pki {
  /** Signs serving certificates and client certificates of users (CN = user, O = groups). */
  readonly authority: Authority
  /** Signs the aggregator's own client certificate; nothing else. */
  readonly frontProxy: Authority
  /** User `admin` of group `system:masters`. */
  readonly admin: CertificatePair
  /** Path of a file in the folder: `ca.crt`, `front-proxy-ca.crt`, `apiserver.crt`, `sa.key`, … */
  file(name: string): string
}

export async function createPki(folder: string, clusterName: string): Promise<Pki> {
  const [authority, frontProxy, serviceAccounts] = await Promise.all([
    createAuthority(`${clusterName}-ca`),
    createAuthority(`${clusterName}-front-proxy-ca`),
    newKeyPem(),
  ])
  const [serving, proxyClient, admin] = await Promise.all([
    authority.issue({
      commonName: 'kube-apiserver',
      dnsNames: ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'],
      ips: ['127.0.0.1', '10.96.0.1'],
    }),
    frontProxy.issue({ commonName: 'front-proxy-client', usages: ['clientAuth'] }),
    authority.issue({ commonName: 'admin', organizations: ['system:masters'], usages: ['clientAuth'] }),
  ])
  const file = (name: string): string => path.join(folder, name)
  const pairs = {
    ca: authority,
    'front-proxy-ca': frontProxy,
    apiserver: serving,
    'front-proxy-client': proxyClient,
    admin,
  }
  await Promise.all([
    ...Object.entries(pairs).flatMap(([name, pair]) => [
      writeFile(file(`${name}.crt`), pair.certPem),
      writeFile(file(`${name}.key`), pair.keyPem, { mode: 0o600 }),
    ]),
    writeFile(file('sa.key'), serviceAccounts.privatePem, { mode: 0o600 }),
    writeFile(file('sa.pub'), serviceAccounts.publicPem),
  ])
  return { authority, frontProxy, admin, file }
}

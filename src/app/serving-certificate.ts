/**
 * The certificate the server shows: the files that were named, else a self-signed one kept under `--cert-dir`, made where
 * it is missing, as a generic API server does (`apiserver.crt`, `apiserver.key`).
 */
import { webcrypto } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import type { CertificatePair } from '../apiserver/tls/certificates.ts'
import type { ServingConfig } from './options/serving-config.ts'

type Files = Pick<ServingConfig, 'tlsCertFile' | 'tlsPrivateKeyFile' | 'certDir'>

const YEAR_MS = 365 * 24 * 60 * 60_000

export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** The files to serve with; made where none were named and none are there. Rejects where that cannot be. */
export async function servingCertificateFiles(
  { tlsCertFile, tlsPrivateKeyFile, certDir }: Files,
  nowMs: number,
): Promise<CertificateFiles> {
  const certFile = tlsCertFile ?? path.join(certDir, 'apiserver.crt')
  const keyFile = tlsPrivateKeyFile ?? path.join(certDir, 'apiserver.key')
  if (tlsCertFile === undefined && !(existsSync(certFile) && existsSync(keyFile))) {
    const made = await selfSigned(nowMs)
    await mkdir(certDir, { recursive: true, mode: 0o700 })
    await writeFile(keyFile, made.key, { mode: 0o600 })
    await writeFile(certFile, made.certificate)
  }
  return { certFile, keyFile }
}

async function selfSigned(nowMs: number): Promise<CertificatePair> {
  // Loaded only where it is needed: it costs 30 ms of a start that brings its own certificate.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${hostname()}`,
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(nowMs - 60_000),
    notAfter: new Date(nowMs + YEAR_MS),
    extensions: [
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: 'dns', value: hostname() },
        { type: 'dns', value: 'localhost' },
        { type: 'dns', value: 'karmada-search.karmada-system.svc' },
        { type: 'ip', value: '127.0.0.1' },
      ]),
    ],
  })
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return {
    certificate: certificate.toString('pem'),
    key: x509.PemConverter.encode(key, x509.PemConverter.PrivateKeyTag),
  }
}

/**
 * The certificate the server shows: the files that were named, else a self-signed one kept under `--cert-dir`, made where
 * it is missing, as a generic API server does (`apiserver.crt`, `apiserver.key`).
 */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import type { ServingConfig } from './options/serving-config.ts'
import { selfSigned } from './self-signed.ts'

type Files = Pick<ServingConfig, 'tlsCertFile' | 'tlsPrivateKeyFile' | 'certDir'>

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
    const made = await selfSigned(hostname(), ownNames(), nowMs)
    await mkdir(certDir, { recursive: true, mode: 0o700 })
    await writeFile(keyFile, made.key, { mode: 0o600 })
    await writeFile(certFile, made.certificate)
  }
  return { certFile, keyFile }
}

function ownNames(): { type: 'dns' | 'ip'; value: string }[] {
  return [
    { type: 'dns', value: hostname() },
    { type: 'dns', value: 'localhost' },
    { type: 'dns', value: 'karmada-search.karmada-system.svc' },
    { type: 'ip', value: '127.0.0.1' },
  ]
}

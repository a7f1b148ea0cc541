/**
 * TLS settings under the names of Go, as Kubernetes' flags have them. Suites of TLS 1.3 are always on, as in Go.
 * Source: Go crypto/tls CipherSuites and InsecureCipherSuites; component-base cli/flag/ciphersuites_flag.go.
 */
import { getCiphers } from 'node:tls'

const TLS13_SUITES = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']

/** Go's name to OpenSSL's. */
const SUITES: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'ECDHE-RSA-CHACHA20-POLY1305',
}

/** Those Go itself calls insecure: no forward secrecy, or ciphers that are broken. Some are not even built in here. */
const INSECURE_SUITES: Readonly<Record<string, string>> = {
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
  TLS_RSA_WITH_AES_128_CBC_SHA256: 'AES128-SHA256',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: 'ECDHE-ECDSA-AES128-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: 'ECDHE-RSA-AES128-SHA256',
  TLS_RSA_WITH_RC4_128_SHA: 'RC4-SHA',
  TLS_RSA_WITH_3DES_EDE_CBC_SHA: 'DES-CBC3-SHA',
  TLS_ECDHE_ECDSA_WITH_RC4_128_SHA: 'ECDHE-ECDSA-RC4-SHA',
  TLS_ECDHE_RSA_WITH_RC4_128_SHA: 'ECDHE-RSA-RC4-SHA',
  TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA: 'ECDHE-RSA-DES-CBC3-SHA',
}

/** Go's default order: what is fast and keeps secrets first. */
const DEFAULT_SUITES = Object.keys(SUITES).filter((name) => /GCM|CHACHA20_POLY1305_SHA256/.test(name))

export interface CipherChoice {
  /** An OpenSSL list. */
  readonly ciphers: string
  readonly warnings: readonly string[]
}

/** Throws where a name is unknown, or none of them can be used. An empty list is the default. */
export function cipherChoice(names: readonly string[]): CipherChoice {
  const wanted = names.length === 0 ? DEFAULT_SUITES : names
  const builtIn = new Set(getCiphers().map((name) => name.toUpperCase()))
  const warnings: string[] = []
  const old = wanted.flatMap((name) => {
    if (TLS13_SUITES.includes(name)) return []
    const suite = SUITES[name] ?? INSECURE_SUITES[name]
    if (suite === undefined)
      throw new Error(`${name} is no cipher suite that is known; one of ${cipherNames().join(', ')}`)
    if (!builtIn.has(suite)) {
      warnings.push(`--tls-cipher-suites: ${name} is not offered: this build has no such cipher`)
      return []
    }
    if (name in INSECURE_SUITES) warnings.push(`--tls-cipher-suites: ${name} is insecure`)
    return [suite]
  })
  return { ciphers: [...TLS13_SUITES, ...old].join(':'), warnings }
}

export function cipherNames(): string[] {
  return [...TLS13_SUITES, ...Object.keys(SUITES), ...Object.keys(INSECURE_SUITES)]
}

/** Go's CurveID to OpenSSL's group. */
const CURVES: Readonly<Record<number, string>> = {
  23: 'P-256',
  24: 'P-384',
  25: 'P-521',
  29: 'X25519',
  4587: 'SecP256r1MLKEM768',
  4588: 'X25519MLKEM768',
  4589: 'SecP384r1MLKEM1024',
}

/** An OpenSSL list of `--tls-curve-preferences`; undefined: the default. Throws for an id that is unknown. */
export function curveChoice(ids: readonly string[]): string | undefined {
  if (ids.length === 0) return undefined
  return ids
    .map((id) => {
      const curve = CURVES[Number(id)]
      if (curve === undefined)
        throw new Error(`${id} is no curve that is known; one of ${Object.keys(CURVES).join(', ')}`)
      return curve
    })
    .join(':')
}

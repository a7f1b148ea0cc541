/** Flags of secure serving and of delegated authentication. */
import { readFileSync } from 'node:fs'
import { cipherChoice, curveChoice } from '../../apiserver/tls/cipher-suites.ts'
import type { FlagReader } from './flag-reader.ts'

export interface ServingConfig {
  readonly bindAddress: string
  readonly securePort: number
  /** SO_REUSEPORT. */
  readonly sharePort: boolean
  readonly tlsCertFile: string | undefined
  readonly tlsPrivateKeyFile: string | undefined
  readonly certDir: string
  readonly sniCertificates: readonly SniFiles[]
  readonly tlsMinVersion: 'TLSv1.2' | 'TLSv1.3'
  /** OpenSSL lists. */
  readonly tlsCiphers: string
  readonly tlsCurves: string | undefined
  readonly http2: boolean
  /** 0: the default. */
  readonly http2MaxStreams: number
  /** 0 to 0.02. */
  readonly goawayChance: number
  /** `Strict-Transport-Security`; undefined: not sent. */
  readonly hsts: string | undefined
}

export interface SniFiles {
  readonly certFile: string
  readonly keyFile: string
  /** Empty: those in the certificate. */
  readonly names: readonly string[]
}

export interface AuthenticationConfig {
  /** Undefined: that of the control plane. */
  readonly kubeconfig: string | undefined
  /** Undefined: looked up in the control plane. */
  readonly clientCaFile: string | undefined
  /** Undefined: looked up in the control plane. */
  readonly requestHeader: RequestHeaderConfig | undefined
  /** Nothing is looked up. */
  readonly skipLookup: boolean
  /** Start although nothing could be looked up. */
  readonly tolerateLookupFailure: boolean
  readonly tokenTtlMs: number
}

export interface RequestHeaderConfig {
  readonly clientCaFile: string
  readonly allowedNames: readonly string[]
  readonly usernameHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly uidHeaders: readonly string[]
  readonly extraHeaderPrefixes: readonly string[]
}

export function servingConfig(flags: FlagReader, warnings: string[]): ServingConfig {
  const tlsCertFile = flags.file('tls-cert-file')
  const tlsPrivateKeyFile = flags.file('tls-private-key-file')
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined)) {
    flags.faults.push('--tls-cert-file and --tls-private-key-file go together')
  }
  const minVersion = flags.choice('tls-min-version', ['VersionTLS12', 'VersionTLS13'])
  const hsts = flags.list('strict-transport-security-directives')
  const suites = checked(flags, 'tls-cipher-suites', cipherChoice)
  warnings.push(...(suites?.warnings ?? []))
  return {
    bindAddress: flags.text('bind-address') ?? '0.0.0.0',
    securePort: flags.number('secure-port', 0, 65_535),
    sharePort: flags.bool('permit-port-sharing'),
    tlsCertFile,
    tlsPrivateKeyFile,
    certDir: flags.text('cert-dir') ?? '.',
    sniCertificates: flags.list('tls-sni-cert-key').flatMap((text) => sniFiles(text, flags)),
    tlsMinVersion: minVersion === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2',
    tlsCiphers: suites?.ciphers ?? '',
    tlsCurves: checked(flags, 'tls-curve-preferences', curveChoice),
    http2: !flags.bool('disable-http2-serving'),
    http2MaxStreams: flags.number('http2-max-streams-per-connection', 0, 2 ** 31 - 1),
    goawayChance: flags.number('goaway-chance', 0, 0.02),
    hsts: hsts.length === 0 ? undefined : hsts.join('; '),
  }
}

export function authenticationConfig(flags: FlagReader): AuthenticationConfig {
  return {
    kubeconfig: flags.file('authentication-kubeconfig'),
    clientCaFile: flags.file('client-ca-file'),
    requestHeader: requestHeader(flags),
    skipLookup: flags.bool('authentication-skip-lookup'),
    tolerateLookupFailure: flags.bool('authentication-tolerate-lookup-failure'),
    tokenTtlMs: flags.durationMs('authentication-token-webhook-cache-ttl'),
  }
}

function requestHeader(flags: FlagReader): RequestHeaderConfig | undefined {
  const clientCaFile = flags.file('requestheader-client-ca-file')
  const allowedNames = flags.list('requestheader-allowed-names')
  if (clientCaFile === undefined) return undefined
  return {
    clientCaFile,
    allowedNames,
    usernameHeaders: headerNames(flags, 'requestheader-username-headers'),
    groupHeaders: headerNames(flags, 'requestheader-group-headers'),
    uidHeaders: headerNames(flags, 'requestheader-uid-headers'),
    extraHeaderPrefixes: headerNames(flags, 'requestheader-extra-headers-prefix'),
  }
}

function headerNames(flags: FlagReader, flag: string): string[] {
  const names = flags.list(flag).map((name) => name.trim().toLowerCase())
  // An empty prefix would make an extra of every header.
  if (names.includes('')) flags.faults.push(`--${flag}: a name is empty`)
  return names
}

/** `CERTIFICATE,KEY` with `:NAME,NAME` behind it. Source: component-base cli/flag/namedcertkey_flag.go. */
function sniFiles(text: string, flags: FlagReader): SniFiles[] {
  const [files = '', names = '', ...rest] = text.split(':')
  const [certFile = '', keyFile = '', ...more] = files.split(',').map((part) => part.trim())
  if (certFile === '' || keyFile === '' || more.length > 0 || rest.length > 0) {
    flags.faults.push(`--tls-sni-cert-key: expected CERTIFICATE,KEY or CERTIFICATE,KEY:NAME,NAME, not ${text}`)
    return []
  }
  for (const file of [certFile, keyFile]) {
    try {
      readFileSync(file)
    } catch (error) {
      flags.faults.push(`--tls-sni-cert-key: ${(error as Error).message}`)
    }
  }
  const wanted = names.split(',').map((name) => name.trim())
  return [{ certFile, keyFile, names: wanted.filter((name) => name !== '') }]
}

/** Undefined, and a fault noted, where `read` throws. */
function checked<T>(flags: FlagReader, flag: string, read: (values: readonly string[]) => T): T | undefined {
  try {
    return read(flags.list(flag))
  } catch (error) {
    flags.faults.push(`--${flag}: ${(error as Error).message}`)
    return undefined
  }
}

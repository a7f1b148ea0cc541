/**
 * What a kube-apiserver publishes for the servers behind it in ConfigMap kube-system/extension-apiserver-authentication.
 * Source: apiserver pkg/server/options/authentication_dynamic_request_header.go, kubernetes pkg/controlplane/controller/
 * clusterauthenticationtrust.
 */
import type { X509Certificate } from 'node:crypto'
import { parseBundle } from './certificate-chain.ts'
import type { FrontProxyTrust } from './trust.ts'

export const CONFIG_MAP_NAMESPACE = 'kube-system'
export const CONFIG_MAP_NAME = 'extension-apiserver-authentication'

type Data = Readonly<Record<string, unknown>>

/** Undefined where the ConfigMap names no client CA. Throws for a bundle that cannot be read. */
export function clientRootsIn(data: Data): readonly X509Certificate[] | undefined {
  const pem = text(data, 'client-ca-file')
  return pem === '' ? undefined : parseBundle(pem)
}

/** Undefined where the ConfigMap names no front-proxy CA. Throws for a bundle or a list that cannot be read. */
export function frontProxyIn(data: Data): FrontProxyTrust | undefined {
  const pem = text(data, 'requestheader-client-ca-file')
  if (pem === '') return undefined
  const lower = (key: string): string[] => list(data, key).map((name) => name.trim().toLowerCase())
  return {
    roots: parseBundle(pem),
    allowedNames: list(data, 'requestheader-allowed-names'),
    usernameHeaders: lower('requestheader-username-headers'),
    uidHeaders: lower('requestheader-uid-headers'),
    groupHeaders: lower('requestheader-group-headers'),
    extraHeaderPrefixes: lower('requestheader-extra-headers-prefix'),
  }
}

function text(data: Data, key: string): string {
  const value = data[key]
  return typeof value === 'string' ? value : ''
}

/** A JSON list of names; a key that is absent is an empty list. */
function list(data: Data, key: string): string[] {
  const value = text(data, key)
  if (value === '') return []
  let parsed: unknown
  try {
    parsed = JSON.parse(value)
  } catch {
    throw new Error(`${key} is no JSON list`)
  }
  if (!Array.isArray(parsed) || !parsed.every((entry) => typeof entry === 'string')) {
    throw new Error(`${key} is no JSON list of names`)
  }
  const names = parsed as string[]
  // An empty name would match every certificate without one, an empty prefix every header.
  if (names.some((name) => name.trim() === '')) throw new Error(`${key} holds an empty name`)
  return names
}

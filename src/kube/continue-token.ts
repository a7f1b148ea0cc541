/**
 * The continue token of a list of many clusters: base64url without padding of `{"rv":…,"cluster":…,"continue":…}`.
 * Byte-compatible with karmada-search (pkg/search/proxy/store/util.go, multiClusterContinue).
 */
import { goJsonString } from './go-text.ts'

export interface ContinueToken {
  /** The token of the list's version map (`encodeVersionMap`), pinned by its first page. */
  readonly rv: string
  /** The cluster to go on in. */
  readonly cluster: string
  /** Where in that cluster: ours to define. Empty: from its beginning. */
  readonly continue: string
}

export function encodeContinueToken(token: ContinueToken): string {
  const fields = [`"rv":${goJsonString(token.rv)}`]
  if (token.cluster !== '') fields.push(`"cluster":${goJsonString(token.cluster)}`)
  if (token.continue !== '') fields.push(`"continue":${goJsonString(token.continue)}`)
  return Buffer.from(`{${fields.join(',')}}`, 'utf8').toString('base64url')
}

/** Undefined for what is no such token: a client's fault, 400. */
export function decodeContinueToken(text: string): ContinueToken | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { rv = '', cluster = '', continue: position = '' } = value as Record<string, unknown>
  if (typeof rv !== 'string' || typeof cluster !== 'string' || typeof position !== 'string') return undefined
  return { rv, cluster, continue: position }
}

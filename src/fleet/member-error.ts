/**
 * Why no usable answer came from a member cluster. Foreign errors (Node, OpenSSL, undici) become one of these once, here,
 * by their codes; the rest of the program branches on `code` and shows `message`, which never holds a credential.
 */
import { errors } from 'undici'
import { tlsFault } from './tls-faults.ts'

/**
 * `refused` nobody listens or the network is unreachable · `dns` the name does not resolve · `tls` the handshake failed on
 * either side · `proxy` the HTTP or SOCKS proxy refused · `timeout` no head, no byte or no connection in time · `closed`
 * the connection broke · `protocol` the answer is not HTTP · `tooLarge` the body exceeds the limit asked for · `auth` our
 * own credentials could not be obtained (file, exec plugin, identity provider) · `unreachable` nothing says how to reach it ·
 * `rejected` it answered with an error status where only success helps.
 */
export type MemberErrorCode =
  | 'refused'
  | 'dns'
  | 'tls'
  | 'proxy'
  | 'timeout'
  | 'closed'
  | 'protocol'
  | 'tooLarge'
  | 'auth'
  | 'unreachable'
  | 'rejected'

export class MemberError extends Error {
  readonly code: MemberErrorCode

  constructor(code: MemberErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'MemberError'
    this.code = code
  }
}

export function isMemberError(error: unknown, code?: MemberErrorCode): error is MemberError {
  return error instanceof MemberError && (code === undefined || error.code === code)
}

const REFUSED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'EADDRNOTAVAIL', 'EACCES'])
const DNS = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'ENODATA', 'ESERVFAIL', 'ETIMEOUT'])
const TIMEOUT = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

const NOT_HTTP = 'HPE_INVALID' // undici's parser errors carry no code of their own in some builds

/** Where the request went, for the message. Both without credentials (`redactUrl`). */
export interface Target {
  readonly server: string
  readonly proxy?: string | undefined
}

/** The MemberError for whatever a request or a body threw. One that is a MemberError already stays itself. */
export function toMemberError(error: unknown, { server, proxy }: Target): MemberError {
  if (error instanceof MemberError) return error
  const code = codeOf(error)
  const make = (kind: MemberErrorCode, text: string): MemberError =>
    new MemberError(kind, `${server}${proxy === undefined ? '' : ` through ${proxy}`}: ${text} (${code})`, {
      cause: error,
    })
  const fault = tlsFault(code)
  if (fault !== undefined) return make('tls', fault)
  if (REFUSED.has(code)) return make('refused', 'connection refused or unreachable')
  if (DNS.has(code)) return make('dns', 'the host name does not resolve')
  if (TIMEOUT.has(code)) return make('timeout', 'no connection in time')
  if (code === NOT_HTTP) return make('protocol', 'the answer is not HTTP')
  if (code.startsWith('Z_')) return make('protocol', 'the gzip body is damaged or cut off')
  if (code.startsWith('UND_ERR_PRX') || code.startsWith('UND_ERR_SOCKS5')) return make('proxy', 'the proxy failed')
  // undici aborts a request with this code when the proxy answers CONNECT with anything but 200.
  if (code === 'UND_ERR_ABORTED' && proxy !== undefined) return make('proxy', 'the proxy refused the tunnel')
  if (code === 'UND_ERR_INVALID_ARG') return make('protocol', 'the request cannot be sent')
  return make('closed', 'the connection broke')
}

/** The most telling code in a chain of causes: that of the innermost error which has one. */
function codeOf(error: unknown): string {
  let found = 'unknown'
  for (let current = error, depth = 0; current instanceof Error && depth < 8; depth++) {
    const code = (current as Error & { code?: unknown }).code
    if (typeof code === 'string') found = code
    if (current instanceof errors.HTTPParserError) return NOT_HTTP
    current = current instanceof AggregateError ? current.errors[0] : current.cause
  }
  return found
}

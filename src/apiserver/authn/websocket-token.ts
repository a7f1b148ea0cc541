/**
 * The bearer token of a WebSocket, which a browser can send only as a subprotocol (http/websocket-protocols.ts).
 * Source: apiserver pkg/authentication/request/websocket/protocol.go.
 */
import { isUtf8 } from 'node:buffer'
import { offeredProtocols } from '../../http/websocket-protocols.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { HeaderLine } from './header-lines.ts'

/**
 * As latin1, as a header's would be. Undefined where the request is for no WebSocket, or has none. Throws `unauthorized` for
 * several, for one that is not base64url of UTF-8, and for one beside which there is no protocol to agree on.
 */
export function webSocketToken(lines: readonly HeaderLine[]): string | undefined {
  const values = (name: string): string[] => lines.filter((line) => line.name === name).map(({ value }) => value)
  if (values('upgrade')[0]?.trim().toLowerCase() !== 'websocket') return undefined
  const { tokens, protocols } = offeredProtocols(values('sec-websocket-protocol'))
  const [encoded] = tokens
  if (encoded === undefined) return undefined
  const token = Buffer.from(encoded, 'base64url')
  const exact = /^[\w-]+$/.test(encoded) && token.toString('base64url') === encoded
  if (tokens.length > 1 || protocols.length === 0 || !exact || !isUtf8(token)) {
    throw new StatusError('unauthorized', 'Unauthorized')
  }
  return token.toString('latin1')
}

/**
 * Bearer tokens of browsers, which can set no `Authorization` header for a WebSocket: one of the subprotocols asked for is
 * `base64url.bearer.authorization.k8s.io.<token>`. It is for the server that is asked, and for no application or other
 * server behind it. Source: apiserver pkg/authentication/request/websocket/protocol.go.
 */
const TOKEN_PREFIX = 'base64url.bearer.authorization.k8s.io.'

export interface OfferedProtocols {
  /** Still encoded. */
  readonly tokens: readonly string[]
  /** What is left, in order. */
  readonly protocols: readonly string[]
}

/** Of one or more values of `Sec-WebSocket-Protocol`. */
export function offeredProtocols(values: readonly string[]): OfferedProtocols {
  const offered = values.flatMap((value) => value.split(',')).map((protocol) => protocol.trim())
  return {
    tokens: offered.filter(isToken).map((protocol) => protocol.slice(TOKEN_PREFIX.length)),
    protocols: offered.filter((protocol) => protocol !== '' && !isToken(protocol)),
  }
}

/** The same value without tokens; itself, byte for byte, where it has none. Empty where nothing is left. */
export function withoutTokens(value: string): string {
  const { tokens, protocols } = offeredProtocols([value])
  return tokens.length === 0 ? value : protocols.join(', ')
}

const isToken = (protocol: string): boolean => protocol.startsWith(TOKEN_PREFIX)

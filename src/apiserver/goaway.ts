/** Asks clients of HTTP/2 to take their next requests elsewhere. Nothing that they have sent is refused. */
import type { ServerResponse } from 'node:http'
import { constants, type Http2Session } from 'node:http2'

/** Of a GOAWAY that refuses no stream yet. Source: RFC 9113 §6.8, graceful shutdown. */
const NO_LAST_STREAM = 2 ** 31 - 1

export function askToGo(session: Http2Session): void {
  session.goaway(constants.NGHTTP2_NO_ERROR, NO_LAST_STREAM)
}

/** The same by the answer to one of its requests. Does nothing over HTTP/1.1, which has `Connection: close` for it. */
export function sendAway(response: ServerResponse): void {
  const { stream } = response as { readonly stream?: { readonly session?: Http2Session } }
  const session = stream?.session
  if (session !== undefined && !session.closed && !session.destroyed) askToGo(session)
}

/** The other way to answer a request over HTTP/1.1: its connection goes on in another protocol. */
import type { Socket } from 'node:net'

export interface Upgrade {
  /** The request's `Upgrade` header as it came: `SPDY/3.1`, `websocket`. */
  readonly protocol: string
  /**
   * Sends `101` with these header lines (name, value, name, value, …) in place of an answer, and hands the connection over
   * with everything the client has sent since. The response's `close` still tells when the client is gone.
   */
  accept(headerLines: readonly string[]): Socket
}

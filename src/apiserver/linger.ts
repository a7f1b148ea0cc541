/**
 * A request that is refused while its body is still coming: the answer has to reach the client, who may not read before it
 * has sent everything, and a connection that is closed with unread bytes is reset, which can overtake the answer. So the rest
 * of the body is read and thrown away for a while; what is longer or slower is cut.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { cutOff } from '../http/connection.ts'
import type { Clock } from '../util/clock.ts'

const LINGER_MS = 2_000
const LINGER_BYTES = 16 * 1024 * 1024

/** Call before the refusal is sent. Does nothing for a body that is complete. */
export function lingerAfter(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  if (request.complete || request.destroyed) return
  let left = LINGER_BYTES
  const cut = (): void => {
    request.destroy()
    cutOff(response)
  }
  const cancel = clock.setTimeout(cut, LINGER_MS)
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) cut()
  })
  request.once('close', cancel)
  request.once('end', cancel)
  request.on('error', cancel)
  request.resume()
}

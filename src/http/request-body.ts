/** The bytes of a request's body, bounded. */
import type { IncomingMessage } from 'node:http'
import { StatusError } from '../kube/status-error.ts'

/** Throws `requestEntityTooLarge` as soon as more than `maxBytes` have come. */
export async function readBytes(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  // Left before its end it stays open: the refusal has to reach who is still sending.
  for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) {
      throw new StatusError('requestEntityTooLarge', `Request entity too large: limit is ${maxBytes}`, { details: {} })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** How a handler answers: one body, made in pieces, whose client may go away at any time. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { ApiRequest } from './api-request.ts'
import type { BodyOptions } from './body-writer.ts'
import { BodyWriter, ClientGoneError } from './body-writer.ts'
import { cutOff, isGone } from './connection.ts'

/** One request and the response that answers it. */
export interface Exchange {
  readonly request: ApiRequest
  readonly response: ServerResponse
}

/**
 * Sends what `produce` writes. A client that goes away ends it quietly. When `produce` fails before anything is sent the
 * error is the caller's to render; afterwards the connection is cut, so that nobody takes a torn body for a whole one.
 */
export async function sendBody(
  { request, response }: Exchange,
  options: BodyOptions,
  produce: (body: BodyWriter) => Promise<void>,
): Promise<void> {
  if (request.method === 'HEAD') return sendHead(response, options)
  const body = new BodyWriter(request.incoming, response, options)
  try {
    await produce(body)
    await body.end()
  } catch (error) {
    if (error instanceof ClientGoneError || isGone(response)) return
    if (response.headersSent) cutOff(response)
    throw error
  }
}

/** Sends bytes that are there already. */
export function sendBytes(exchange: Exchange, options: BodyOptions, bytes: Uint8Array): Promise<void> {
  return sendBody(exchange, options, (body) => {
    body.write(bytes)
    return Promise.resolve()
  })
}

/** Sends a value as JSON. */
export function sendJson(exchange: Exchange, value: unknown, headers: OutgoingHttpHeaders = {}): Promise<void> {
  const options = { headers: { 'content-type': 'application/json', ...headers } }
  return sendBytes(exchange, options, Buffer.from(`${JSON.stringify(value)}\n`))
}

function sendHead(response: ServerResponse, { status, headers }: BodyOptions): Promise<void> {
  response.writeHead(status ?? 200, { 'cache-control': 'no-cache, private', ...headers })
  response.end()
  return Promise.resolve()
}

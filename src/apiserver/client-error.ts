/** Requests over HTTP/1.1 that are none: answered before the connection is closed, as far as there is anybody to answer. */
import type { Duplex } from 'node:stream'
import { StatusError, type StatusCode } from '../kube/status-error.ts'

interface Refusal {
  readonly line: string
  readonly code: StatusCode
  readonly message: string
}

const MALFORMED: Refusal = { line: '400 Bad Request', code: 'badRequest', message: 'the request is no valid HTTP' }
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    line: '431 Request Header Fields Too Large',
    code: 'badRequest',
    message: 'the headers of the request are too large',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    line: '413 Payload Too Large',
    code: 'requestEntityTooLarge',
    message: 'the chunk extensions of the request are too large',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    line: '408 Request Timeout',
    code: 'badRequest',
    message: 'the request did not arrive in time',
  },
}

/** What HTTP's parser found; all else is TLS, which has no place for an answer before its handshake, or a broken line. */
const OF_HTTP = /^(HPE_|ERR_HTTP_)/

export function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!OF_HTTP.test(error.code ?? '') || !socket.writable) return void socket.destroy()
  const { line, code, message } = REFUSALS[error.code ?? ''] ?? MALFORMED
  const [status = '400'] = line.split(' ', 1)
  const body = JSON.stringify({ ...new StatusError(code, message).toStatus(), code: Number(status) })
  socket.end(
    `HTTP/1.1 ${line}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}

/** One call of gRPC over an HTTP/2 stream: messages out, messages in, and the status at its end. */
import type { ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import { GrpcError } from './grpc-error.ts'

const PREFIX_BYTES = 5 // one byte whether it is compressed, four bytes of length
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024 // far above a page of the largest values that etcd takes (1.5 MiB)

export class GrpcCall {
  readonly #stream: ClientHttp2Stream
  #headers: IncomingHttpHeaders = {}
  #trailers: IncomingHttpHeaders = {}
  #failure: GrpcError | undefined

  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream
    stream.on('response', (headers) => (this.#headers = headers))
    stream.on('trailers', (trailers: IncomingHttpHeaders) => (this.#trailers = trailers))
    // Comes out of the iteration below; without a listener it would end the process.
    stream.on('error', () => undefined)
  }

  send(message: Buffer): void {
    const prefix = Buffer.alloc(PREFIX_BYTES)
    prefix.writeUInt32BE(message.length, 1)
    if (!this.#stream.destroyed) this.#stream.write(Buffer.concat([prefix, message]))
  }

  /** No more messages from us. */
  end(): void {
    this.#stream.end()
  }

  /** Cancels it; `messages` then throws `failure`. */
  fail(failure: GrpcError): void {
    this.#failure ??= failure
    this.close()
  }

  close(): void {
    this.#stream.destroy()
  }

  /** Ends where the server ends the call with status OK. Throws `GrpcError` for every other end. */
  async *messages(): AsyncGenerator<Buffer> {
    let rest: Buffer = Buffer.alloc(0)
    try {
      for await (const chunk of this.#stream as AsyncIterable<Buffer>) {
        this.#requireGrpc()
        rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
        for (let next = takeMessage(rest); next !== undefined; next = takeMessage(rest)) {
          rest = next.rest
          yield next.message
        }
      }
    } catch (error) {
      if (this.#failure !== undefined) throw this.#failure
      if (error instanceof GrpcError) throw error
      throw new GrpcError('broken', (error as Error).message, { cause: error })
    }
    this.#requireSuccess()
  }

  #requireGrpc(): void {
    const http = this.#headers[':status'] as number | undefined
    if (http !== undefined && http !== 200) throw new GrpcError('protocol', `not gRPC: HTTP status ${http}`)
  }

  #requireSuccess(): void {
    if (this.#failure !== undefined) throw this.#failure
    this.#requireGrpc()
    const text = this.#trailers['grpc-status'] ?? this.#headers['grpc-status']
    if (text === undefined) throw new GrpcError('broken', 'the connection ended inside the call')
    const status = Number(text)
    if (status === 0) return
    const message = String(this.#trailers['grpc-message'] ?? this.#headers['grpc-message'] ?? '')
    throw new GrpcError('status', decodeText(message) || `gRPC status ${status}`, { status })
  }
}

/** The first message of the bytes; undefined where it is not complete. */
function takeMessage(bytes: Buffer): { readonly message: Buffer; readonly rest: Buffer } | undefined {
  if (bytes.length < PREFIX_BYTES) return undefined
  if (bytes[0] !== 0) throw new GrpcError('protocol', 'a compressed message, which was not asked for')
  const length = bytes.readUInt32BE(1)
  if (length > MAX_MESSAGE_BYTES) throw new GrpcError('protocol', `a message of ${length} bytes is too large`)
  const end = PREFIX_BYTES + length
  return bytes.length < end ? undefined : { message: bytes.subarray(PREFIX_BYTES, end), rest: bytes.subarray(end) }
}

/** Texts of statuses are percent-encoded; a broken one is shown as it is. */
function decodeText(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

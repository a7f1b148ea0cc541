/**
 * One HTTP/2 connection to one server of gRPC: connected within a time-out, watched by pings while a stream is open.
 * Why not a library: docs/designs/etcd.md.
 */
import { connect, constants, type ClientHttp2Session } from 'node:http2'
import type { Clock } from '../../util/clock.ts'
import { GrpcCall } from './grpc-call.ts'
import { GrpcError } from './grpc-error.ts'

/** PEM. */
export interface TlsMaterial {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

export interface GrpcConnectOptions {
  /** `https://HOST:PORT`, or `http://HOST:PORT` without TLS. */
  readonly url: URL
  readonly tls: TlsMaterial
  readonly timeoutMs: number
  readonly clock: Clock
}

// etcd closes connections that are pinged more often than every 5 s (--grpc-keepalive-min-time).
const PING_MS = 10_000
const PONG_MS = 5_000
const WINDOW_BYTES = 1024 * 1024

export class GrpcConnection {
  readonly #session: ClientHttp2Session
  readonly #clock: Clock
  #streams = 0
  #cancelPing: (() => void) | undefined

  private constructor(session: ClientHttp2Session, clock: Clock) {
    this.#session = session
    this.#clock = clock
    session.once('close', () => this.#cancelPing?.())
  }

  /** Rejects with `GrpcError` unreachable or timeout. Ready when the server has spoken HTTP/2, not before. */
  static connect({ url, tls, timeoutMs, clock }: GrpcConnectOptions): Promise<GrpcConnection> {
    const session = connect(url.origin, {
      ...tls,
      settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
    })
    return new Promise((resolve, reject) => {
      const fail = (error: GrpcError): void => {
        cancel()
        session.destroy()
        reject(error)
      }
      const cancel = clock.setTimeout(() => {
        fail(new GrpcError('timeout', `no connection within ${timeoutMs} ms`))
      }, timeoutMs)
      const onError = (error: Error & { readonly reason?: string }): void => {
        // OpenSSL's message tells where in its sources, its reason what.
        fail(new GrpcError('unreachable', error.reason ?? error.message, { cause: error }))
      }
      session.on('error', onError)
      // A server that refuses our certificate says so after the handshake; node:http2 keeps that to itself.
      session.once('connect', (_, socket) => socket.on('error', onError))
      session.once('close', () => {
        fail(new GrpcError('unreachable', 'the connection was closed'))
      })
      session.once('remoteSettings', () => {
        cancel()
        resolve(new GrpcConnection(session, clock))
      })
    })
  }

  /** False once it is broken, or the server asked to go elsewhere. */
  get usable(): boolean {
    return !this.#session.closed && !this.#session.destroyed
  }

  /** One message for one. Rejects with `GrpcError`; after a time-out the connection is closed, as it may be dead. */
  async unary(path: string, request: Buffer, timeoutMs: number): Promise<Buffer> {
    const call = this.#open(path, { 'grpc-timeout': `${Math.ceil(timeoutMs)}m` })
    const cancel = this.#clock.setTimeout(() => {
      call.fail(new GrpcError('timeout', `no answer within ${Math.round(timeoutMs)} ms`))
      this.close()
    }, timeoutMs)
    try {
      call.send(request)
      call.end()
      let answer: Buffer | undefined
      for await (const message of call.messages()) answer = message
      if (answer === undefined) throw new GrpcError('protocol', 'no message in the answer')
      return answer
    } finally {
      cancel()
      call.close()
    }
  }

  /** Open in both directions until the signal aborts or it fails. */
  stream(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): GrpcCall {
    const call = this.#open(path, headers, () => {
      signal.removeEventListener('abort', abort)
      this.#streams -= 1
      if (this.#streams === 0) this.#cancelPing?.()
    })
    const abort = (): void => {
      call.close()
    }
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    this.#streams += 1
    if (this.#streams === 1) this.#armPing()
    return call
  }

  close(): void {
    this.#session.destroy()
  }

  #open(path: string, headers: Readonly<Record<string, string>>, onClose?: () => void): GrpcCall {
    try {
      const stream = this.#session.request({
        [constants.HTTP2_HEADER_METHOD]: 'POST',
        [constants.HTTP2_HEADER_PATH]: path,
        'content-type': 'application/grpc',
        te: 'trailers',
        ...headers,
      })
      if (onClose !== undefined) stream.once('close', onClose)
      return new GrpcCall(stream)
    } catch (error) {
      throw new GrpcError('unreachable', (error as Error).message, { cause: error })
    }
  }

  /** A server or a network that is silently gone is noticed within 15 s. */
  #armPing(): void {
    this.#cancelPing = this.#clock.setTimeout(() => {
      this.#cancelPing = this.#clock.setTimeout(() => {
        this.#session.destroy(new Error(`no answer to a ping within ${PONG_MS} ms`))
      }, PONG_MS)
      this.#session.ping((error) => {
        this.#cancelPing?.()
        if (error === null && this.usable && this.#streams > 0) this.#armPing()
      })
    }, PING_MS)
  }
}

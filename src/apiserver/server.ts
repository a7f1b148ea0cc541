/** Listening and draining. What is served is a plain request listener (create-listener.ts), which never listens by itself. */
import { createServer as createHttpServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SecureVersion } from 'node:tls'
import type { Clock } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'

export interface TlsOptions {
  /** PEM, chain included. */
  readonly certificate: string
  readonly key: string
  readonly minVersion: SecureVersion
  /** PEM bundles whose names are hinted to clients; what they vouch for is decided by the authenticators. */
  readonly clientCas: readonly string[]
}

export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly tls?: TlsOptions
}

export interface RunningServer {
  /** `http://127.0.0.1:8080` */
  readonly url: string
  readonly port: number
  /** Stops accepting, lets requests end for `graceMs`, then cuts what is left. */
  close(graceMs: number): Promise<void>
}

/** Headers must arrive within 10 s and a kept-alive connection may idle for 2 min: slow clients hold nothing for long. */
const HTTP_LIMITS: ServerOptions = {
  maxHeaderSize: 64 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 120_000,
  connectionsCheckingInterval: 5_000,
}

/** The address cannot be bound; `message` names it and says why. */
export class ListenError extends Error {
  constructor(where: string, cause: NodeJS.ErrnoException) {
    const reason = LISTEN_FAULTS[cause.code ?? ''] ?? cause.message
    super(`cannot listen on ${where}: ${reason}`, { cause })
    this.name = 'ListenError'
  }
}

const LISTEN_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use by another program',
  EACCES: 'this user may not open that port',
  EADDRNOTAVAIL: 'this machine has no such address',
}

/** Rejects with `ListenError` where the address cannot be bound. */
export async function listen(listener: RequestListener, options: ListenOptions, clock: Clock): Promise<RunningServer> {
  const server = createServer(listener, options.tls)
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error): void => {
      reject(new ListenError(`${host}:${options.port}`, error))
    }
    server.once('error', failed)
    server.listen(options.port, options.host, () => {
      server.off('error', failed)
      resolve()
    })
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://${host}:${port}`,
    port,
    close: (graceMs) => drain(server, graceMs, clock),
  }
}

function createServer(listener: RequestListener, tls: TlsOptions | undefined): Server {
  if (tls === undefined) return createHttpServer(HTTP_LIMITS, listener)
  return createHttpsServer(
    {
      ...HTTP_LIMITS,
      cert: tls.certificate,
      key: tls.key,
      minVersion: tls.minVersion,
      requestCert: true,
      // Certificates are judged for each CA pool apart (authn/certificate-chain.ts); TLS only proves that the key is held.
      rejectUnauthorized: false,
      ...(tls.clientCas.length === 0 ? {} : { ca: [...tls.clientCas] }),
    },
    listener,
  )
}

async function drain(server: Server, graceMs: number, clock: Clock): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve()
    })
  })
  server.closeIdleConnections()
  const done = new AbortController()
  const cut = sleep(graceMs, clock, done.signal).then(
    () => {
      server.closeAllConnections()
    },
    () => undefined,
  )
  await closed
  done.abort()
  await cut
}

/**
 * Listening and draining. What is served is a plain request listener (create-listener.ts), which never listens by itself.
 * Over TLS a client chooses between HTTP/2 and HTTP/1.1 (ALPN). Upgrades are HTTP/1.1's alone: WebSockets over HTTP/2
 * (RFC 8441) are not offered, since no Kubernetes client asks for them and browsers then open an HTTP/1.1 connection.
 */
import { constants } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { createServer as createHttpServer, type RequestListener, type ServerOptions } from 'node:http'
import {
  createSecureServer,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { SecureContext, SecureContextOptions, SecureVersion } from 'node:tls'
import type { Clock, Random } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import { refuseMalformed } from './client-error.ts'
import { askToGo } from './goaway.ts'
import type { CommonTls, ServerCertificates } from './tls/certificates.ts'
import { isWantedUpgrade, upgradeListener } from './upgrade.ts'

export interface TlsOptions {
  /** Asked for each connection, so that they can be replaced. */
  readonly certificates: ServerCertificates
  readonly http2: boolean
  /** Streams a client may have open on one connection; 0: the default. */
  readonly http2MaxStreams: number
  /** How often an HTTP/2 connection is asked to go, so that clients spread over replicas: 0 to 1 for each request. */
  readonly goawayChance: number
  readonly random: Random
}

export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly tls?: TlsOptions
  /** Another process may listen on the same port (SO_REUSEPORT). Default false. */
  readonly sharePort?: boolean
  /** Default: `PATIENCE`. */
  readonly patience?: Patience
}

/** How long a client may take, ms. */
export interface Patience {
  /** For the headers of a request, and for a TLS handshake. */
  readonly headersMs: number
  /** For a whole request, its body included. */
  readonly requestMs: number
  /** Between two requests. */
  readonly idleMs: number
  /** How often that is looked at. */
  readonly checkMs: number
}

/** Slow clients hold nothing for long. */
const PATIENCE: Patience = { headersMs: 10_000, requestMs: 60_000, idleMs: 120_000, checkMs: 5_000 }

export interface RunningServer {
  /** `http://127.0.0.1:8080` */
  readonly url: string
  readonly port: number
  /**
   * Tells clients with HTTP/2 connections to take their next requests elsewhere, each once; everything is still
   * answered. Returns how many were told: what they send before they have heard it would be lost with a connection that
   * closes.
   */
  announceClose(): number
  /** Stops accepting, lets requests end for `graceMs`, then cuts what is left. */
  close(graceMs: number): Promise<void>
}

/**
 * 128 KiB of headers are users with more than a thousand groups; how many lines there are is not limited apart, since Node
 * would drop the rest without a word.
 */
const MAX_HEADER_BYTES = 128 * 1024
const MAX_HEADERS_COUNT = 0 // no limit of its own

function http1Limits({ headersMs, requestMs, idleMs, checkMs }: Patience): ServerOptions {
  return {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: checkMs,
    shouldUpgradeCallback: isWantedUpgrade,
  }
}

/** As a kube-apiserver: more are opened only by who is up to no good. */
const HTTP2_STREAMS = 100
/** Unread bytes of a body that a client may have under way. */
const HTTP2_WINDOW = 256 * 1024

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
  const server = createServer(listener, options, clock)
  const connections = trackConnections(server)
  const sessions = trackSessions(server)
  server.on('clientError', refuseMalformed)
  server.on('upgrade', upgradeListener(listener, clock))
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error): void => {
      reject(new ListenError(`${host}:${options.port}`, error))
    }
    server.once('error', failed)
    server.listen({ port: options.port, host: options.host, reusePort: options.sharePort === true }, () => {
      server.off('error', failed)
      resolve()
    })
  })
  const { port } = server.address() as AddressInfo
  const unlisten = options.tls?.certificates.onFallback((fallback) => {
    server.setSecureContext?.(fallback)
  })
  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://${host}:${port}`,
    port,
    announceClose: () => sessions.dismiss(),
    async close(graceMs) {
      unlisten?.()
      await drain(server, connections, graceMs, clock)
    },
  }
}

interface AnyServer extends Server {
  closeIdleConnections(): void
  /** Only of servers of TLS: for connections from now on. */
  setSecureContext?(options: SecureContextOptions): void
}

function createServer(listener: RequestListener, { tls, patience = PATIENCE }: ListenOptions, clock: Clock): AnyServer {
  const limits = http1Limits(patience)
  if (tls === undefined) {
    return Object.assign(createHttpServer(limits, listener), { maxHeadersCount: MAX_HEADERS_COUNT })
  }
  const secure = handshake(tls.certificates, patience)
  if (!tls.http2) {
    const server = createHttpsServer({ ...limits, ...secure, ALPNProtocols: ['http/1.1'] }, listener)
    return Object.assign(server, { maxHeadersCount: MAX_HEADERS_COUNT })
  }
  const options: SecureServerOptions<never, never, never, never> & ServerOptions<never, never> = {
    ...(limits as ServerOptions<never, never>),
    ...secure,
    allowHTTP1: true,
    // Each header line is a pair, and a user may have hundreds of groups.
    maxHeaderListPairs: 4_096,
    maxOutstandingPings: 10,
    maxSettings: 32,
    settings: {
      maxConcurrentStreams: tls.http2MaxStreams === 0 ? HTTP2_STREAMS : tls.http2MaxStreams,
      initialWindowSize: HTTP2_WINDOW,
      maxHeaderListSize: MAX_HEADER_BYTES,
      enablePush: false,
    },
  }
  const server = createSecureServer(options, listener as unknown as () => void)
  server.on('session', (session: ServerHttp2Session) => {
    watchOver(session, tls, patience.idleMs, clock)
  })
  return Object.assign(server, { maxHeadersCount: MAX_HEADERS_COUNT }) as unknown as AnyServer
}

/** Which certificate is shown, and that one is asked for, whatever the version of HTTP. */
function handshake(certificates: ServerCertificates, { headersMs }: Patience) {
  return {
    ...certificates.fallback(),
    SNICallback: (name: string, done: (error: Error | null, context?: SecureContext) => void) => {
      done(null, certificates.contextFor(name))
    },
    handshakeTimeout: headersMs,
    requestCert: true,
    // Certificates are judged for each CA pool apart (authn/certificate-chain.ts); TLS only proves that the key is held.
    rejectUnauthorized: false,
  } as const
}

/**
 * No session tickets: a resumed session has the client's certificate without its chain, so that who comes by an
 * intermediate would be a stranger the second time. No renegotiation: an old way to make a server work.
 * An empty CA list means that clients are told of no CA and show what they have.
 */
export function commonTls(minVersion: SecureVersion, ciphers: string, curves: string | undefined): CommonTls {
  return {
    minVersion,
    ciphers,
    ca: [],
    secureOptions:
      constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_CIPHER_SERVER_PREFERENCE,
    ...(curves === undefined ? {} : { ecdhCurve: curves }),
  }
}

/**
 * Lets connections go that have no request open for a while, and now and then one that has, when its requests are through.
 * Not by `session.setTimeout`, whose timer keeps a session that is gone.
 */
function watchOver(
  session: ServerHttp2Session,
  { goawayChance, random }: TlsOptions,
  idleMs: number,
  clock: Clock,
): void {
  const waitIdle = (): (() => void) => clock.setTimeout(() => session.close(), idleMs)
  let open = 0
  let stopWaiting = waitIdle()
  session.on('error', () => undefined) // of the connection; its streams hear of it
  session.once('close', () => stopWaiting())
  session.on('stream', (stream: ServerHttp2Stream) => {
    if (open === 0) stopWaiting()
    open += 1
    stream.once('close', () => {
      open -= 1
      if (open === 0 && !session.destroyed) stopWaiting = waitIdle()
    })
    if (goawayChance > 0 && random() < goawayChance) session.close()
  })
}

function trackConnections(server: EventEmitter): ReadonlySet<Socket> {
  const connections = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  return connections
}

function trackSessions(server: EventEmitter): { dismiss(): number } {
  /** Those that have not been told. */
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
  })
  return {
    dismiss() {
      const open = [...sessions].filter((session) => !session.closed && !session.destroyed)
      for (const session of open) askToGo(session)
      sessions.clear()
      return open.length
    },
  }
}

async function drain(
  server: AnyServer,
  connections: ReadonlySet<Socket>,
  graceMs: number,
  clock: Clock,
): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve()
    })
  })
  const done = new AbortController()
  const idle = closeIdle(server, clock, done.signal)
  const cut = sleep(graceMs, clock, done.signal).then(
    () => {
      for (const socket of connections) socket.destroy()
    },
    () => undefined,
  )
  await closed
  done.abort()
  await Promise.all([cut, idle])
}

/** How soon a connection goes whose last answer ends while the server stops: Node would keep it alive. */
const IDLE_CHECK_MS = 50

async function closeIdle(server: AnyServer, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    server.closeIdleConnections()
    await sleep(IDLE_CHECK_MS, clock, signal).catch(() => undefined)
  }
}

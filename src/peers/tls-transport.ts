/**
 * Connections between replicas: TLS 1.3, a certificate on both sides. Certificates are signed by nobody: each side knows the
 * other's by its SHA-256, from the directory, and TLS shows that the other holds the key.
 */
import { createHash } from 'node:crypto'
import type { AddressInfo, Socket } from 'node:net'
import tls from 'node:tls'
import type { Clock } from '../util/clock.ts'
import type { Channel } from './channel.ts'
import type { Replica } from './directory.ts'
import { lineChannel } from './line-channel.ts'
import { Strangers } from './strangers.ts'

export interface PeerIdentity {
  /** PEM. */
  readonly certificate: string
  readonly key: string
  /** SHA-256 of the certificate, in hexadecimal. */
  readonly fingerprint: string
}

/** Handshake included; a replica in the same network answers in milliseconds. */
const CONNECT_MS = 2_000
/** Each needs one; a new one of the same replica takes the place of the one before. */
const MAX_REPLICAS = 64

export interface PeerListener {
  readonly port: number
  close(): Promise<void>
}

/** Resolves with whether that is the certificate of a replica; does not reject. Closes the channel where it is none. */
export type OnPeer = (fingerprint: string, channel: Channel) => Promise<boolean>

/** Rejects where the port cannot be had. */
export async function listenForPeers(
  identity: PeerIdentity,
  where: { readonly host: string; readonly port: number },
  onPeer: OnPeer,
  clock: Clock,
): Promise<PeerListener> {
  const sockets = new Set<Socket>()
  const replicas = new Set<tls.TLSSocket>()
  const strangers = new Strangers(clock)
  const greet = async (socket: tls.TLSSocket): Promise<void> => {
    socket.setNoDelay(true)
    const fingerprint = shownBy(socket)
    if (fingerprint === undefined || !(await onPeer(fingerprint, lineChannel(socket)))) return void socket.destroy()
    if (socket.destroyed || replicas.size >= MAX_REPLICAS) return void socket.destroy()
    strangers.admit(socket)
    replicas.add(socket)
    socket.on('close', () => replicas.delete(socket))
  }
  const server = tls.createServer(
    { ...tlsOf(identity), requestCert: true, handshakeTimeout: CONNECT_MS },
    (socket) => void greet(socket),
  )
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    strangers.arrive(socket)
  })
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(where, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve()
        })
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** Rejects where nobody answers in time, or somebody else does. */
export function dialPeer(
  identity: PeerIdentity,
  { address, fingerprint }: Replica,
  signal: AbortSignal,
): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const at = address.lastIndexOf(':')
    const host = address.slice(0, at).replace(/^\[|\]$/g, '')
    const port = Number(address.slice(at + 1))
    if (at < 1 || !Number.isInteger(port) || port < 1 || port > 65_535) return reject(new Error('it has no address'))
    if (signal.aborted) return reject(signal.reason as Error)
    // Who it is, is its certificate's SHA-256: no name and no authority says more.
    const socket = tls.connect({ ...tlsOf(identity), host, port, checkServerIdentity: () => undefined })
    const fail = (error: Error): void => {
      settle()
      socket.destroy()
      reject(error)
    }
    const onAbort = (): void => fail(signal.reason as Error)
    const onTimeout = (): void => fail(new Error(`no answer within ${CONNECT_MS} ms`))
    const settle = (): void => {
      socket.setTimeout(0)
      socket.off('error', fail).off('timeout', onTimeout)
      signal.removeEventListener('abort', onAbort)
    }
    socket.setTimeout(CONNECT_MS)
    socket.on('error', fail).on('timeout', onTimeout)
    signal.addEventListener('abort', onAbort, { once: true })
    socket.once('secureConnect', () => {
      if (shownBy(socket) !== fingerprint) return fail(new Error('it is not the replica that is registered there'))
      settle()
      socket.setNoDelay(true)
      resolve(lineChannel(socket))
    })
  })
}

function tlsOf({ certificate, key }: PeerIdentity): tls.SecureContextOptions & { rejectUnauthorized: false } {
  return { cert: certificate, key, minVersion: 'TLSv1.3', rejectUnauthorized: false }
}

/** Undefined: it has shown none. */
function shownBy(socket: tls.TLSSocket): string | undefined {
  const certificate = socket.getPeerX509Certificate()
  return certificate === undefined ? undefined : fingerprintOf(certificate.raw)
}

export function fingerprintOf(der: Uint8Array): string {
  return createHash('sha256').update(der).digest('hex')
}

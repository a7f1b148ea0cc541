/** The certificates that a TLS client presented on its connection, over HTTP/1.1 and HTTP/2. */
import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'

export interface PresentedChain {
  readonly leaf: X509Certificate
  readonly intermediates: readonly X509Certificate[]
}

/** Longest chain looked at, leaf excluded; real ones have one or two intermediates. */
export const MAX_INTERMEDIATES = 8

/** One for each connection: reading and judging a certificate costs more than most requests do. */
const CHAINS = new WeakMap<object, PresentedChain | 'none'>()

interface Http2Request {
  readonly stream?: { readonly session?: object }
}

/** The certificate a TLS client proved to hold, with what it sent along; undefined without one. Not yet verified. */
export function presentedChain(request: IncomingMessage): PresentedChain | undefined {
  const connection = (request as Http2Request).stream?.session ?? request.socket
  let chain = CHAINS.get(connection)
  if (chain === undefined) {
    chain = read(request) ?? 'none'
    CHAINS.set(connection, chain)
  }
  return chain === 'none' ? undefined : chain
}

function read(request: IncomingMessage): PresentedChain | undefined {
  const { socket } = request
  if (!(socket instanceof TLSSocket)) return undefined
  const leaf = socket.getPeerX509Certificate()
  if (leaf === undefined) return undefined
  const intermediates: X509Certificate[] = []
  for (
    let next = leaf.issuerCertificate;
    next !== undefined && intermediates.length < MAX_INTERMEDIATES;
    next = next.issuerCertificate
  ) {
    intermediates.push(next)
    if (next.issuerCertificate === next) break
  }
  return { leaf, intermediates }
}

/** Values of a subject attribute, in order (`CN`, `O`). */
export function subjectValues(certificate: X509Certificate, attribute: 'CN' | 'O'): string[] {
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<Record<string, string | string[]>>
  const value = subject[attribute]
  if (value === undefined) return []
  return Array.isArray(value) ? value : [value]
}

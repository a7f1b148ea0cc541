/** Asks a server for another protocol, over HTTP/1.1 with or without TLS, and shows what comes back. */
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'

export interface UpgradeAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** Name, value, name, value, … */
  readonly lines: readonly string[]
  /** The connection, paused, where the status is 101. */
  readonly socket: Socket | undefined
  /** What came behind the head of any other answer. */
  readonly body: string
}

export interface UpgradeWish {
  readonly url: string
  /** Default `POST` for SPDY and `GET` for WebSockets, as kubectl. */
  readonly method?: string
  /** Default `SPDY/3.1`. */
  readonly protocol?: string
  readonly headers?: OutgoingHttpHeaders
  readonly caPem?: string
  readonly signal?: AbortSignal
}

export function askUpgrade({ url, protocol = 'SPDY/3.1', headers, caPem, signal, ...wish }: UpgradeWish) {
  const method = wish.method ?? (protocol === 'SPDY/3.1' ? 'POST' : 'GET')
  const send = url.startsWith('https:') ? httpsRequest : httpRequest
  return new Promise<UpgradeAnswer>((resolve, reject) => {
    const request = send(url, {
      method,
      agent: false,
      headers: { connection: 'Upgrade', upgrade: protocol, ...headers },
      ...(caPem === undefined ? {} : { ca: caPem }),
      ...(signal === undefined ? {} : { signal }),
    })
    const head = (answer: IncomingMessage) => ({
      status: answer.statusCode ?? 0,
      headers: answer.headers,
      lines: answer.rawHeaders,
    })
    request.on('upgrade', (answer, stream, early: Buffer) => {
      const socket = stream as Socket
      socket.on('error', () => undefined)
      socket.allowHalfOpen = true
      if (early.length > 0) socket.unshift(early)
      resolve({ ...head(answer), socket, body: '' })
    })
    request.on('response', (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text: string) => (body += text))
      answer.on('end', () => {
        resolve({ ...head(answer), socket: undefined, body })
      })
      answer.on('error', reject)
    })
    request.on('error', reject)
    request.end()
  })
}

/** Everything until the other side ends; the own side stays open. */
export function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk) => (text += String(chunk)))
  return new Promise((resolve, reject) => {
    socket.once('end', () => {
      resolve(text)
    })
    socket.once('error', reject)
  })
}

/** Serves one handler on a loopback port, and asks it as a client that neither decodes nor follows anything. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import type { ApiHandler, UserInfo } from '../../src/http/api-request.ts'
import { sendStatus, statusOf } from '../../src/http/status-response.ts'

export const ADMIN: UserInfo = { name: 'admin', uid: '', groups: ['system:authenticated'], extra: {} }

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Each header line by itself, lower-case names. */
  readonly rawHeaders: readonly (readonly [string, string])[]
  /** As it came. */
  readonly raw: Buffer
  /** Decoded. */
  readonly text: string
  readonly json: any // eslint-disable-line @typescript-eslint/no-explicit-any
}

export interface AskOptions {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
}

export interface WatchEvent {
  readonly type: string
  readonly object: any // eslint-disable-line @typescript-eslint/no-explicit-any
}

/** A stream of events under way. */
export interface OpenWatch {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly events: readonly WatchEvent[]
  /** The server has ended it. */
  readonly ended: Promise<void>
  readonly isEnded: boolean
  /** Resolves when so many events are there, or the stream has ended. */
  until(count: number): Promise<void>
  close(): void
}

/** A client that has asked and reads nothing. */
export interface StalledClient {
  /** The server's side of the connection is closed. */
  readonly isClosed: boolean
  readonly closed: Promise<void>
  leave(): void
}

export class Loopback {
  readonly #server: http.Server
  readonly #agent = new http.Agent({ keepAlive: true })
  /** Faults that the handler threw: ours, unless a test expects them. */
  readonly faults: unknown[] = []
  /** What handlers had to say in the audit log, of all requests. */
  readonly audited: [string, string][] = []
  user: UserInfo = ADMIN

  private constructor(handler: ApiHandler, prefix: string) {
    this.#server = http.createServer((incoming, response) => {
      const { pathname, search } = splitTarget(incoming.url ?? '/')
      const controller = new AbortController()
      response.on('close', () => controller.abort(new Error('the client is gone')))
      const request = {
        method: incoming.method ?? 'GET',
        path: pathname.slice(prefix.length),
        rawQuery: search,
        query: new URLSearchParams(search),
        user: this.user,
        signal: controller.signal,
        incoming,
        annotate: (key: string, value: string) => this.audited.push([key, value]),
      }
      handler(request, response).catch((error: unknown) => {
        const status = statusOf(error)
        if (status.code === 500) this.faults.push(error)
        if (response.headersSent) response.destroy()
        else sendStatus(response, status)
      })
    })
  }

  static async start(handler: ApiHandler, prefix = ''): Promise<Loopback> {
    const loopback = new Loopback(handler, prefix)
    await new Promise<void>((resolve) => loopback.#server.listen(0, '127.0.0.1', resolve))
    return loopback
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#agent.destroy()
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  async ask(path: string, options: AskOptions = {}): Promise<Answer> {
    const message = await this.#send(path, options)
    const chunks: Buffer[] = []
    for await (const chunk of message) chunks.push(chunk as Buffer)
    const raw = Buffer.concat(chunks)
    const text = (message.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw).toString('utf8')
    return {
      status: message.statusCode ?? 0,
      headers: message.headers,
      rawHeaders: pairs(message.rawHeaders),
      raw,
      text,
      json: text.startsWith('{') && text.trimEnd().endsWith('}') ? parse(text) : undefined,
    }
  }

  /** Resolves with the head; events are collected as they come. */
  async watch(path: string, options: AskOptions = {}): Promise<OpenWatch> {
    return collect(await this.#send(path, options))
  }

  /** A client that asks and then reads nothing. */
  async stalledWatch(path: string, headers: Record<string, string> = {}): Promise<StalledClient> {
    const { port } = this.#server.address() as AddressInfo
    const accepted = new Promise<Socket>((resolve) => this.#server.once('connection', resolve))
    const socket = connect({ port, host: '127.0.0.1' })
    socket.pause()
    socket.on('error', () => undefined)
    const lines = Object.entries({ host: 'loopback', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
    const server = await accepted
    let isClosed = false
    const closed = new Promise<void>((resolve) => {
      server.once('close', () => {
        isClosed = true
        socket.destroy()
        resolve()
      })
    })
    return {
      closed,
      leave: () => {
        socket.destroy()
      },
      get isClosed() {
        return isClosed
      },
    }
  }

  #send(path: string, { method = 'GET', headers: own = {}, body }: AskOptions): Promise<IncomingMessage> {
    const headers = body === undefined ? own : { ...own, 'content-length': String(Buffer.byteLength(body)) }
    return new Promise((resolve, reject) => {
      const { port } = this.#server.address() as AddressInfo // not by a URL, which would resolve `..`
      const request = http.request({ host: '127.0.0.1', port, path, method, headers, agent: this.#agent }, resolve)
      request.on('error', reject)
      request.end(body)
    })
  }
}

/** Not by `URL`, which would resolve `..` and so hide what a hostile client sends. */
function splitTarget(target: string): { pathname: string; search: string } {
  const at = target.indexOf('?')
  return at < 0 ? { pathname: target, search: '' } : { pathname: target.slice(0, at), search: target.slice(at + 1) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function pairs(raw: readonly string[]): [string, string][] {
  const result: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) result.push([(raw[i] as string).toLowerCase(), raw[i + 1] as string])
  return result
}

function collect(message: IncomingMessage): OpenWatch {
  const events: WatchEvent[] = []
  let rest = '' // a cut-off line, or a whole answer that is no stream
  let isEnded = false
  const waiting = new Set<() => void>()
  const ended = new Promise<void>((resolve) => {
    message.on('close', () => {
      const last = parse(rest)
      if (last !== undefined) events.push(last as WatchEvent)
      isEnded = true
      resolve()
      for (const wake of waiting) wake()
    })
  })
  message.setEncoding('utf8')
  message.on('error', () => undefined)
  message.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) events.push(JSON.parse(line) as WatchEvent)
    for (const wake of waiting) wake()
  })
  return {
    status: message.statusCode ?? 0,
    headers: message.headers,
    events,
    ended,
    get isEnded() {
      return isEnded
    },
    async until(count) {
      while (events.length < count && !isEnded) {
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake)
            resolve()
          }
          waiting.add(wake)
        })
      }
    },
    close() {
      message.destroy()
    },
  }
}

/** A fake member in front of which sessions are served: upgrades, logs and whatever else a test wants to answer itself. */
import { once } from 'node:events'
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { FakeMember } from './fake-member.ts'
import { startFakeMember } from './fake-member.ts'
import { podManifest } from './manifests.ts'

export interface SessionMember {
  readonly url: string
  readonly api: FakeMember
  /** Requests that asked for another protocol, in their order. */
  readonly upgrades: readonly IncomingMessage[]
  /** Connections that are open to sessions now. */
  readonly sessions: ReadonlySet<Socket>
  close(): Promise<void>
}

export interface SessionHandlers {
  /** Default: agrees and says everything back. */
  readonly upgrade?: (request: IncomingMessage, socket: Socket) => void
  /** True: answered. */
  readonly request?: (request: IncomingMessage, response: ServerResponse) => boolean
}

/** The head of a 101 that agrees to SPDY. */
export const AGREED =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n' +
  'X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n'

export function echo(_request: IncomingMessage, socket: Socket): void {
  socket.write(AGREED)
  socket.on('data', (chunk) => socket.write(chunk))
  socket.on('end', () => socket.end())
}

/** A plain answer to an upgrade. */
export function refuse(status: number, body: string): NonNullable<SessionHandlers['upgrade']> {
  return (_request, socket) => {
    socket.end(
      `HTTP/1.1 ${status} No\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  }
}

/** Has pods of these names in `default`. */
export async function startSessionMember(
  name: string,
  pods: readonly string[],
  handlers: SessionHandlers = {},
): Promise<SessionMember> {
  const objects = pods.map((pod) => podManifest(pod) as Parameters<FakeMember['put']>[0])
  const api = await startFakeMember({ name, objects })
  const upgrades: IncomingMessage[] = []
  const sessions = new Set<Socket>()
  const server = createServer((request, response) => {
    if (handlers.request?.(request, response) !== true) passOn(api.url, request, response)
  })
  server.on('upgrade', (request, stream) => {
    const socket = stream as Socket
    upgrades.push(request)
    sessions.add(socket)
    socket.on('error', () => undefined).on('close', () => sessions.delete(socket))
    ;(handlers.upgrade ?? echo)(request, socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    api,
    upgrades,
    sessions,
    async close() {
      for (const socket of sessions) socket.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await api.close()
    },
  }
}

function passOn(url: string, request: IncomingMessage, response: ServerResponse): void {
  const { method, headers } = request
  const upstream = send(url + (request.url ?? '/'), { method, headers, agent: false }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    response.flushHeaders()
    answer.pipe(response)
    answer.on('error', () => response.destroy())
  })
  upstream.on('error', () => response.destroy())
  response.on('close', () => upstream.destroy())
  request.pipe(upstream)
}

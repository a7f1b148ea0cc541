/** Loopback servers for the tests of fleet/: plain, TLS, an HTTP CONNECT proxy, and a TCP relay that can fall silent. */
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer, type ServerOptions } from 'node:https'
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server as TcpServer,
  type Socket,
} from 'node:net'

export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** How many were ever accepted. */
  readonly connections: number
  /** Breaks every connection at once. */
  cut(): void
}

export async function serveHttp(listener: RequestListener): Promise<TestServer> {
  return listening(createHttpServer(listener), 'http')
}

export async function serveHttps(options: ServerOptions, listener: RequestListener): Promise<TestServer> {
  const server = createHttpsServer(options, listener)
  server.on('tlsClientError', () => undefined)
  return listening(server, 'https')
}

export async function serveTcp(onSocket: (socket: Socket) => void): Promise<TestServer> {
  return listening(createTcpServer(onSocket), 'tcp')
}

export interface ProxyLog {
  readonly target: string
  readonly headers: NodeJS.Dict<string | string[]>
}

/** Answers CONNECT with `status`; 200 opens the tunnel. */
export async function serveProxy(log: ProxyLog[], status = 200): Promise<TestServer> {
  const server = createHttpServer((_request, response) => response.writeHead(405).end())
  const upstreams = new Set<Socket>()
  server.on('connect', (request, client: Socket, head) => {
    log.push({ target: request.url ?? '', headers: request.headers })
    if (status !== 200) {
      client.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`)
      return
    }
    const { hostname, port } = new URL(`http://${request.url}`)
    const upstream = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      upstream.write(head)
      upstream.pipe(client).pipe(upstream)
    })
    upstreams.add(upstream)
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy())
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy())
  })
  return listening(server, 'http', () => {
    for (const upstream of upstreams) upstream.destroy()
  })
}

export interface Relay extends TestServer {
  /** Swallows bytes in both directions, with the connections left open: a half-open connection as its ends see it. */
  silent: boolean
}

/** Relays TCP to `port`. */
export async function serveRelay(port: number): Promise<Relay> {
  const upstreams = new Set<Socket>()
  const server = createTcpServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    upstreams.add(upstream)
    client.on('data', (chunk) => relay.silent || upstream.write(chunk))
    upstream.on('data', (chunk) => relay.silent || client.write(chunk))
    client.on('error', () => undefined).on('close', () => upstream.destroy())
    upstream.on('error', () => undefined).on('close', () => relay.silent || client.destroy())
  })
  const base = await listening(server, 'http', () => {
    for (const upstream of upstreams) upstream.destroy()
  })
  const relay: Relay = Object.assign(base, { silent: false })
  return relay
}

async function listening(
  server: Server | TcpServer,
  scheme: string,
  onClose: () => void = () => undefined,
): Promise<TestServer> {
  const sockets = new Set<Socket>()
  let connections = 0
  const track = (socket: Socket): void => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  }
  server.on('connection', track)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port,
    url: `${scheme}://127.0.0.1:${port}`,
    cut,
    get connections() {
      return connections
    },
    async [Symbol.asyncDispose]() {
      cut()
      onClose()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

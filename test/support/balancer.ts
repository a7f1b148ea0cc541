/**
 * What a Service does for its Pods: one port in front of several backends, by connections. A backend is asked for its
 * readiness as a kubelet asks; one that is not ready gets no new connection and keeps those it has. Where none is ready, any
 * that listens is taken, so that who asks is told why.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createTestClient, type TestClient } from './real-parts/http.ts'

export interface Backend {
  readonly port: number
  readonly caPem: string
}

export interface Balancer {
  readonly port: number
  /** Ports of the backends that are ready now. */
  ready(): readonly number[]
  close(): Promise<void>
}

const PROBE_MS = 100
const PROBE_LIMIT_MS = 1_000

export async function startBalancer(backends: readonly Backend[]): Promise<Balancer> {
  const ready = new Set<number>()
  const sockets = new Set<Socket>()
  const stop = new AbortController()
  const probes = backends.map((backend) => probe(backend, ready, stop.signal))
  let turn = 0
  const server = createServer((client) => {
    turn += 1
    const all = backends.map(({ port }) => port)
    const candidates = ready.size === 0 ? all : all.filter((port) => ready.has(port))
    const first = turn % Math.max(1, candidates.length)
    pass(client, [...candidates.slice(first), ...candidates.slice(0, first)], sockets)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    ready: () => [...ready],
    async close() {
      stop.abort()
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await Promise.all([closed, ...probes])
    },
  }
}

/** Joins the client with the first backend that takes the connection. */
function pass(client: Socket, [port, ...others]: readonly number[], sockets: Set<Socket>): void {
  keep(client, sockets)
  if (port === undefined) return void client.destroy()
  const upstream = connect(port, '127.0.0.1')
  keep(upstream, sockets)
  upstream.once('connect', () => {
    client.pipe(upstream).pipe(client)
    client.once('close', () => upstream.destroy())
    upstream.once('close', () => client.destroy())
  })
  upstream.once('error', () => {
    if (upstream.connecting || upstream.bytesRead + upstream.bytesWritten === 0) pass(client, others, sockets)
  })
}

function keep(socket: Socket, sockets: Set<Socket>): void {
  if (sockets.has(socket)) return
  sockets.add(socket)
  socket.setNoDelay()
  socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
}

async function probe({ port, caPem }: Backend, ready: Set<number>, signal: AbortSignal): Promise<void> {
  const client: TestClient = createTestClient({ url: `https://127.0.0.1:${port}`, caPem, http2: false })
  while (!signal.aborted) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(PROBE_LIMIT_MS)])
    const answer = await client.request('/readyz', { signal: limit }).catch(() => undefined)
    if (answer?.status === 200) ready.add(port)
    else ready.delete(port)
    await delay(PROBE_MS, undefined, { signal }).catch(() => undefined)
  }
  await client.close()
}

/** A TCP proxy in front of a server: cuts connections, or stalls them without a word (half-open), on a test's demand. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** Connections taken so far. */
  readonly taken: number
  /** Resets every open connection; new ones are taken. */
  cut(): void
  /** Passes nothing on, in neither direction, and answers nothing: the network is gone. New connections hang too. */
  stall(): void
  resume(): void
  /**
   * Holds back what the server sends without having been asked: a second after the last thing that the client of that connection
   * has said. Answers pass, events of watches wait until `resume`.
   */
  holdEvents(): void
  close(): Promise<void>
}

const ANSWER_MS = 1_000

export async function startTcpProxy(targetPort: number, targetHost = '127.0.0.1'): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let taken = 0
  let stalled = false
  let holding = false
  const held = new Map<Socket, Buffer[]>()
  const server = createServer((client) => {
    taken += 1
    const upstream = connect(targetPort, targetHost)
    const pair = [client, upstream] as const
    pairs.add(pair)
    const end = (): void => {
      client.destroy()
      upstream.destroy()
      pairs.delete(pair)
    }
    for (const socket of pair) socket.on('error', end).on('close', end)
    let askedMs = performance.now()
    client.on('data', (chunk) => {
      askedMs = performance.now()
      upstream.write(chunk)
    })
    upstream.on('data', (chunk: Buffer) => {
      const waiting = held.get(client)
      if (waiting !== undefined) waiting.push(chunk)
      else if (holding && performance.now() - askedMs > ANSWER_MS) held.set(client, [chunk])
      else client.write(chunk)
    })
    if (stalled) pause(pair)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    get taken() {
      return taken
    },
    cut() {
      for (const [client, upstream] of pairs) {
        client.resetAndDestroy()
        upstream.destroy()
      }
    },
    stall() {
      stalled = true
      for (const pair of pairs) pause(pair)
    },
    holdEvents() {
      holding = true
    },
    resume() {
      stalled = false
      holding = false
      for (const [client, chunks] of held) for (const chunk of chunks) client.write(chunk)
      held.clear()
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
    async close() {
      for (const pair of pairs) for (const socket of pair) socket.destroy()
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve()
        })
      })
    },
  }
}

function pause(pair: readonly [Socket, Socket]): void {
  for (const socket of pair) socket.pause()
}

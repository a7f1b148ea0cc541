/** Ports of 127.0.0.1 for servers that must be told theirs before they start. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below what Linux and macOS give to clients and to whoever listens on port 0: those come and go all the time. */
const FIRST = 10_000
const END = 32_000

/** Looked at by this process; other processes are hardly lucky enough to be given the same before its server listens. */
const seen = new Set<number>()

/** Nobody listens on them now. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = randomInt(FIRST, END)
    if (seen.has(port)) continue
    seen.add(port)
    if (await isFree(port)) ports.push(port)
  }
  return ports
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

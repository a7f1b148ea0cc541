/**
 * What clients cost over TLS, by version of HTTP: memory of an idle connection and of an idle watch, and requests a second
 * with their latency, for a list of two pods whose right is remembered. The service is a process of its own, and so is a
 * bare server of Node with the same TLS, which answers with a head and one line: what no program on Node can go below.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectHttp2, createSecureServer, type ClientHttp2Session } from 'node:http2'
import { Agent, get } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import { trustedTls } from '../test/support/test-tls.ts'
import { startTlsService, type TlsServiceProcess } from '../test/support/tls-service.ts'

const BASE = '/apis/search.karmada.io/v1alpha1'
const PODS = `${BASE}/search/cache/api/v1/pods`
const WATCH = `${BASE}/proxying/karmada/proxy/api/v1/pods?watch=true&resourceVersion=0`
/** Enough that what V8 reserves for young objects is little of each. */
const COUNT = 4_000
const STREAMS = 100
const REQUESTS = 10_000
const AT_ONCE = 16

type Server = Pick<TlsServiceProcess, 'url' | 'port' | 'caPem' | 'residentBytes' | 'stop'>

interface Held {
  close(): void
}

function report(what: string, text: string): void {
  process.stdout.write(`${what.padEnd(36)} ${text}\n`)
}

/** Bytes for each of `COUNT` things that `open` opens `each` at a time. */
async function memory(
  what: string,
  each: number,
  open: (service: Server) => Promise<Held>,
  start: () => Promise<Server> = startTlsService,
): Promise<void> {
  const service = await start()
  const warm = await Promise.all(Array.from({ length: 5 }, () => open(service)))
  const before = await service.residentBytes()
  const held: Held[] = []
  while (held.length * each < COUNT) {
    held.push(...(await Promise.all(Array.from({ length: each === 1 ? 20 : 1 }, () => open(service)))))
  }
  await new Promise((resolve) => setTimeout(resolve, 500))
  const bytes = (await service.residentBytes()) - before
  report(what, `${(bytes / (held.length * each) / 1024).toFixed(1)} KiB`)
  for (const one of [...held, ...warm]) one.close()
  await service.stop()
}

async function idle({ port, caPem }: Server, protocol: string, first = ''): Promise<Held> {
  const socket = connect({ host: '127.0.0.1', port, ca: caPem, ALPNProtocols: [protocol] })
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  if (first !== '') {
    socket.write(`GET ${first} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await once(socket, 'data')
  }
  socket.resume()
  return { close: () => socket.destroy() }
}

async function http2Watches({ url, caPem }: Server): Promise<Held> {
  const session = connectHttp2(url, { ca: caPem })
  session.on('error', () => undefined)
  await Promise.all(
    Array.from({ length: STREAMS }, async () => {
      const stream = session.request({ ':path': WATCH })
      stream.on('error', () => undefined)
      await once(stream, 'data')
      stream.resume()
    }),
  )
  return { close: () => session.destroy() }
}

async function startBareServer(): Promise<Server> {
  const child = fork(import.meta.filename, ['bare'], { execArgv: ['--expose-gc'] })
  const [{ port, caPem }] = (await once(child, 'message')) as [{ port: number; caPem: string }]
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    caPem,
    async residentBytes() {
      child.send('memory')
      return ((await once(child, 'message')) as [number])[0]
    },
    async stop() {
      child.kill()
      await once(child, 'exit')
    },
  }
}

async function serveBare(): Promise<void> {
  const { tls, caPem } = await trustedTls()
  const server = createSecureServer({ ...tls.certificates.fallback(), allowHTTP1: true }, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{}\n')
  })
  process.on('message', () => {
    globalThis.gc?.()
    globalThis.gc?.()
    process.send?.(process.memoryUsage.rss())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  process.send?.({ port: (server.address() as AddressInfo).port, caPem })
}

async function throughput(what: string, ask: () => Promise<void>): Promise<void> {
  const run = async (count: number): Promise<number[]> => {
    const times: number[] = []
    let left = count
    const work = async (): Promise<void> => {
      while (left-- > 0) {
        const startedMs = performance.now()
        await ask()
        times.push(performance.now() - startedMs)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    return times
  }
  await run(REQUESTS / 5)
  const startedMs = performance.now()
  const times = (await run(REQUESTS)).sort((a, b) => a - b)
  const seconds = (performance.now() - startedMs) / 1000
  const at = (share: number): string => (times[Math.floor(times.length * share)] ?? 0).toFixed(2)
  report(what, `${Math.round(REQUESTS / seconds)}/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`)
}

async function speed(): Promise<void> {
  const service = await startTlsService()
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE, ca: service.caPem })
  await throughput('list over HTTP/1.1', async () => {
    const [response] = (await once(get(service.url + PODS, { agent }), 'response')) as [NodeJS.ReadableStream]
    response.resume()
    await once(response, 'end')
  })
  agent.destroy()
  const session: ClientHttp2Session = connectHttp2(service.url, { ca: service.caPem })
  await throughput('list over HTTP/2, one connection', async () => {
    const stream = session.request({ ':path': PODS })
    stream.resume()
    await once(stream, 'end')
  })
  session.destroy()
  await service.stop()
}

async function bench(): Promise<void> {
  await memory('idle connection, HTTP/1.1', 1, (service) => idle(service, 'http/1.1', PODS))
  await memory('idle connection, HTTP/2', 1, (service) => idle(service, 'h2'))
  await memory('idle watch, HTTP/1.1', 1, (service) => idle(service, 'http/1.1', WATCH))
  await memory('idle watch, HTTP/2', STREAMS, http2Watches)
  await memory('bare Node, answer begun, HTTP/1.1', 1, (bare) => idle(bare, 'http/1.1', WATCH), startBareServer)
  await memory('bare Node, answer begun, HTTP/2', STREAMS, http2Watches, startBareServer)
  await speed()
}

if (process.argv[2] === 'bare') await serveBare()
else await bench()

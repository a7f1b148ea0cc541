/**
 * What clients cost over TLS, by version of HTTP: memory of an idle connection and of an idle watch, and requests a second
 * with their latency, for a list of two pods whose right is remembered. The service is a process of its own.
 */
import { once } from 'node:events'
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2'
import { Agent, get } from 'node:https'
import { connect } from 'node:tls'
import { startTlsService, type TlsServiceProcess } from '../test/support/tls-service.ts'

const BASE = '/apis/search.karmada.io/v1alpha1'
const PODS = `${BASE}/search/cache/api/v1/pods`
const WATCH = `${BASE}/proxying/karmada/proxy/api/v1/pods?watch=true&resourceVersion=0`
const COUNT = 1_000
const STREAMS = 100
const REQUESTS = 10_000
const AT_ONCE = 16

interface Held {
  close(): void
}

function report(what: string, text: string): void {
  process.stdout.write(`${what.padEnd(36)} ${text}\n`)
}

/** Bytes for each of `COUNT` things that `open` opens `each` at a time. */
async function memory(what: string, each: number, open: (service: TlsServiceProcess) => Promise<Held>): Promise<void> {
  const service = await startTlsService()
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

async function idle({ port, caPem }: TlsServiceProcess, protocol: string, first = ''): Promise<Held> {
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

async function http2Watches({ url, caPem }: TlsServiceProcess): Promise<Held> {
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

await memory('idle connection, HTTP/1.1', 1, (service) => idle(service, 'http/1.1', PODS))
await memory('idle connection, HTTP/2', 1, (service) => idle(service, 'h2'))
await memory('idle watch, HTTP/1.1', 1, (service) => idle(service, 'http/1.1', WATCH))
await memory('idle watch, HTTP/2', STREAMS, http2Watches)
await speed()

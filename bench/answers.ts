/**
 * What clients wait for, over loopback HTTP with the client in a process of its own: 50,000 pods in 10 clusters, as whole
 * lists (plain and gzipped), pages, Tables, metadata alone, by label, by field, sorted, and one object.
 *
 * Beside it the time to stream one constant buffer of the whole list's size: nothing that answers can be faster.
 */
import { fork } from 'node:child_process'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Cache } from '../src/cache/cache.ts'
import { sendBody } from '../src/http/answer.ts'
import type { ApiHandler } from '../src/http/api-request.ts'
import { createColumnSource } from '../src/http/column-source.ts'
import type { ClusterName, ResourceVersion } from '../src/kube/names.ts'
import { createProxyHandler } from '../src/proxy/framework.ts'
import { createCachePlugin } from '../src/proxy/plugins/cache.ts'
import { createSearchCacheHandler } from '../src/search/cache-handler.ts'
import { systemClock } from '../src/util/clock.ts'
import { benchPod, seededRandom } from './fleet-objects.ts'

const CLUSTERS = 10
const PODS = 5_000
const GVR = { group: '', version: 'v1', resource: 'pods' }

const GZIP = { 'accept-encoding': 'gzip' }
const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
const METADATA = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' }

interface Ask {
  readonly port: number
  readonly path: string
  readonly headers: Record<string, string>
  readonly times: number
}

/** Times in ms, and the bytes of one body. */
interface Told {
  readonly ms: number[]
  readonly bytes: number
}

if (process.argv[2] === 'client') client()
else await server()

function client(): void {
  const agent = new http.Agent({ keepAlive: true })
  process.on('message', (ask: Ask) => {
    void (async () => {
      const ms: number[] = []
      let bytes = 0
      for (let i = 0; i < ask.times; i++) {
        const startedMs = performance.now()
        bytes = await read(ask, agent)
        ms.push(performance.now() - startedMs)
      }
      process.send?.({ ms, bytes } satisfies Told)
    })()
  })
}

function read({ port, path, headers }: Ask, agent: http.Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: '127.0.0.1', port, path, headers, agent }, (message) => {
      let bytes = 0
      message.on('data', (chunk: Buffer) => (bytes += chunk.length))
      message.on('end', () => {
        if (message.statusCode === 200) resolve(bytes)
        else reject(new Error(`${path}: ${String(message.statusCode)}`))
      })
    })
    request.on('error', reject)
  })
}

async function server(): Promise<void> {
  const { cache, one, size } = load()
  const columns = createColumnSource([])
  const plugin = createCachePlugin({ cache, columns, clock: systemClock, random: () => 0 })
  const routes: Record<string, ApiHandler> = {
    '/S': createSearchCacheHandler({
      cache,
      columns,
      clock: systemClock,
      known: { known: () => undefined, heard: () => true },
      clusters: { names: () => [] },
    }),
    '/P': createProxyHandler({ plugins: [plugin], fleet: { member: () => undefined } }),
    '/C': constant(size),
  }
  const listener = http.createServer((incoming, response) => {
    const [path = '', rawQuery = ''] = (incoming.url ?? '').split('?')
    const route = routes[path.slice(0, 2)] as ApiHandler
    const user = { name: 'bench', uid: '', groups: [], extra: {} }
    const query = new URLSearchParams(rawQuery)
    const { signal } = new AbortController()
    void route({ method: 'GET', path: path.slice(2), rawQuery, query, user, signal, incoming }, response)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as AddressInfo
  const child = fork(import.meta.filename, ['client'])
  for (const [what, path, times, headers = {}] of asks(one)) {
    const cpu = process.cpuUsage()
    const told = new Promise<Told>((resolve) => child.once('message', (message) => resolve(message as Told)))
    child.send({ port, path, headers, times } satisfies Ask)
    const { ms, bytes } = await told
    const { user, system } = process.cpuUsage(cpu)
    const best = Math.min(...ms).toFixed(2)
    const median = (ms.toSorted((a, b) => a - b)[ms.length >> 1] as number).toFixed(2)
    const each = ((user + system) / 1_000 / times).toFixed(2)
    console.log(
      `${what.padEnd(36)} best ${best} ms, median ${median}, server CPU ${each}, ${(bytes / 1e6).toFixed(2)} MB`,
    )
  }
  child.kill()
  listener.close()
  cache.close()
}

function asks(one: string): [what: string, path: string, times: number, headers?: Record<string, string>][] {
  const proxied = '/P/karmada/proxy/api/v1'
  return [
    ['a constant buffer of that size', '/C', 5],
    ['search/cache, all', '/S/api/v1/pods', 5],
    ['search/cache, all, gzip', '/S/api/v1/pods', 3, GZIP],
    ['proxy, page of 10,000', `${proxied}/pods?limit=10000`, 5],
    ['proxy, page of 10,000, gzip', `${proxied}/pods?limit=10000`, 5, GZIP],
    ['proxy, Table of 10,000', `${proxied}/pods?limit=10000`, 3, TABLE],
    ['proxy, metadata of 10,000', `${proxied}/pods?limit=10000`, 3, METADATA],
    ['one label', '/S/api/v1/pods?labelSelector=slice%3D3', 10],
    ['one node, by field', '/S/api/v1/pods?fieldSelector=spec.nodeName%3Dnone', 2],
    ['sorted by restarts, first 100', '/S/api/v1/pods?sortBy=-restarts&limit=100', 2],
    ['search/cache, one', `/S/api/v1/${one}`, 1_000],
    ['proxy, one', `${proxied}/${one}`, 1_000],
  ]
}

function load(): { cache: Cache; one: string; size: number } {
  const cache = new Cache({ clock: systemClock })
  cache.register(GVR, 'Pod', true)
  let one = ''
  let size = 0
  for (let c = 0; c < CLUSTERS; c++) {
    const random = seededRandom(c + 1)
    const cluster = `member${c}` as ClusterName
    const writer = cache.openShard({ cluster, clusterUid: 'bench', gvr: GVR, kind: 'Pod', namespaced: true })
    const replacement = writer.beginReplace()
    for (let i = 0; i < PODS; i++) {
      const { namespace, name, bytes } = benchPod(random, cluster, i)
      const pod = JSON.parse(bytes.toString()) as { metadata: { name: string; labels: Record<string, string> } }
      pod.metadata.name = `${name}-${c}` // no twins: the proxy would answer 409
      pod.metadata.labels['slice'] = String(i % 75)
      one = `namespaces/${namespace}/pods/${pod.metadata.name}`
      size += bytes.length
      replacement.add(Buffer.from(JSON.stringify(pod)))
    }
    replacement.commit('1000000' as ResourceVersion)
    writer.report({ phase: 'watching' })
  }
  return { cache, one, size }
}

function constant(size: number): ApiHandler {
  const piece = Buffer.alloc(4_700, 0x20)
  return (request, response) =>
    sendBody({ request, response }, { headers: { 'content-type': 'text/plain' } }, async (body) => {
      for (let sent = 0; sent < size; sent += piece.length) {
        body.write(piece)
        const wait = body.ready()
        if (wait !== undefined) await wait
      }
    })
}

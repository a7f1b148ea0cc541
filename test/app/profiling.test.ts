import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer, request, type ClientRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Lifecycle } from '../../src/app/lifecycle.ts'
import { readCommandLine, UsageError, type ServeConfig } from '../../src/app/options/config.ts'
import { openProfiling } from '../../src/app/profiling.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { systemClock, systemRandom } from '../../src/util/clock.ts'
import { freePorts } from '../support/free-port.ts'
import { eventually } from '../support/whole-service.ts'

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

describe('profiles', () => {
  const log = createLogger('silent')
  const lifecycle = new Lifecycle(log, systemClock)
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-profiling-'))
  const socketPath = path.join(folder, 'debug.sock')
  let port = 0
  let routes: Awaited<ReturnType<typeof openProfiling>> = []

  before(async () => {
    ;[port = 0] = await freePorts(1)
    const address = { host: '127.0.0.1', port }
    const config = { mainPort: true, snapshots: true, address, socket: socketPath }
    const runtime = { log, clock: systemClock, random: systemRandom, print: () => undefined }
    routes = await openProfiling(config, runtime, lifecycle)
  })
  after(async () => {
    await lifecycle.stop(1_000)
    rmSync(folder, { recursive: true })
  })

  const begin = (url: string, more: object = {}): ClientRequest =>
    request({ host: '127.0.0.1', port, path: `/debug/pprof${url}`, agent: false, ...more }).end()

  async function ask(url: string, more: object = {}): Promise<Answer> {
    const [response] = (await once(begin(url, more), 'response')) as [IncomingMessage]
    const chunks: Buffer[] = []
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
    return { status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString() }
  }

  it('are named with what each is', async () => {
    for (const url of ['', '/'])
      assert.match((await ask(url)).text, /pprof\/profile\n +CPU profile.*\n.*pprof\/heap\n/s)
    assert.equal((await ask('/goroutine')).status, 404)
    assert.equal((await ask('/profile', { method: 'POST' })).status, 405)
  })

  it('are taken of the time and of the heap', async () => {
    const busy = setInterval(() => JSON.stringify(Array.from({ length: 50_000 }, (_, i) => ({ i }))), 1)
    const cpu = await ask('/profile?seconds=0.3')
    const heap = await ask('/heap?seconds=0.3')
    clearInterval(busy)
    assert.match(String(cpu.headers['content-disposition']), /attachment; filename="fleetsearch-.*\.cpuprofile"/)
    const profile = JSON.parse(cpu.text) as { nodes: object[]; samples: number[]; startTime: number; endTime: number }
    assert.ok(profile.samples.length > 10 && profile.nodes.length > 3)
    assert.ok(profile.endTime - profile.startTime > 250_000)
    assert.ok('head' in (JSON.parse(heap.text) as object))
  })

  it('are taken one at a time, and stopped when their client goes', async () => {
    const first = begin('/profile?seconds=200')
    first.on('error', () => undefined)
    await eventually(async () => (await ask('/profile?seconds=0.01')).status === 429, 'the first one')
    const refused = await ask('/heap?seconds=1')
    assert.equal(refused.status, 429)
    assert.equal(refused.headers['retry-after'], '5')
    first.destroy()
    await eventually(async () => (await ask('/profile?seconds=0.01')).status === 200, 'the end of the first one')
  })

  it('are bounded', async () => {
    for (const seconds of ['0', '-1', '301', 'x', '1e9']) {
      assert.equal((await ask(`/profile?seconds=${seconds}`)).status, 400, seconds)
    }
  })

  it('of everything in memory are not given to whoever comes', async () => {
    assert.equal((await ask('/heapsnapshot')).status, 404)
    assert.equal((await ask('/', { headers: { host: 'evil.test' } })).status, 403)
  })

  it('of everything in memory are streamed on the main port', async () => {
    const [route] = routes
    const main = createServer((incoming, response) => {
      const { signal } = new AbortController()
      const user = { name: 'admin', uid: '', groups: [], extra: {} }
      const query = new URLSearchParams()
      const asked = { method: 'GET', path: '/heapsnapshot', rawQuery: '', query, user, signal, incoming }
      void route?.handler(asked, response)
    })
    await new Promise<void>((resolve) => main.listen(0, '127.0.0.1', resolve))
    const { text } = await ask('/heapsnapshot', { port: (main.address() as AddressInfo).port })
    assert.match(text.slice(0, 100), /^\{"snapshot":/)
    assert.equal(text.at(-1), '}')
    await new Promise((resolve) => main.close(resolve))
  })

  it('are served on a socket that only its owner opens', async () => {
    assert.equal(statSync(socketPath).mode & 0o777, 0o600)
    assert.equal((await ask('/', { host: undefined, port: undefined, socketPath })).status, 200)
  })
})

describe('flags of profiles', () => {
  const profiling = (...argv: string[]) => {
    const line = readCommandLine(['serve', ...argv], {}, '0')
    assert.ok('run' in line)
    return (line.run as ServeConfig).profiling
  }

  it('open no port of their own unless asked', () => {
    assert.deepEqual(profiling(), { mainPort: true, snapshots: false, address: undefined, socket: undefined })
    assert.deepEqual(profiling('--profiling=false', '--debug-socket-path=/run/a.sock'), {
      mainPort: false,
      snapshots: false,
      address: undefined,
      socket: '/run/a.sock',
    })
    assert.deepEqual(profiling('--enable-pprof').address, { host: undefined, port: 6060 })
    assert.deepEqual(profiling('--enable-pprof', '--profiling-bind-address=[::1]:9').address, { host: '::1', port: 9 })
    assert.throws(() => profiling('--profiling-bind-address=x'), UsageError)
  })
})

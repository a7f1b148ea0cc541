/** How a replica comes and goes: what is answered before its cache is full, and while it stops. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, constants, type IncomingHttpHeaders } from 'node:http2'
import { describe, it } from 'node:test'
import { allowAll } from '../../src/apiserver/authz/authorizer.ts'
import type { Route } from '../../src/apiserver/route.ts'
import { whenSynced } from '../../src/app/first-sync-gate.ts'
import { serveHttp, type HttpServerOptions } from '../../src/app/http-server.ts'
import { Lifecycle } from '../../src/app/lifecycle.ts'
import type { Runtime } from '../../src/app/runtime.ts'
import type { ApiHandler } from '../../src/http/api-request.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { systemClock } from '../../src/util/clock.ts'
import { FakeClock, until } from '../support/fake-clock.ts'
import { createTestClient, type TestClient } from '../support/real-parts/http.ts'
import { trustedTls } from '../support/test-tls.ts'

const SEARCH = '/apis/search.karmada.io/v1alpha1/search'
const WATCH = '/apis/search.karmada.io/v1alpha1/proxying/karmada/proxy/api/v1/pods?watch=true'
const USER = { name: 'tester', uid: '', groups: [], extra: {} }

/** Answers when it is told to, or says that it was aborted. */
function pending() {
  const requests: { finish(): void }[] = []
  const handler: ApiHandler = async ({ signal }, response) => {
    await new Promise<void>((resolve, reject) => {
      requests.push({ finish: resolve })
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
    response.end('done')
  }
  return { requests, handler }
}

async function start(routes: readonly Route[], options: Partial<HttpServerOptions> = {}, clock = systemClock) {
  const log = createLogger('silent')
  const runtime: Runtime = { log, clock, random: () => 0, print: () => undefined }
  const lifecycle = new Lifecycle(log, systemClock)
  let stopped = false
  const check = {
    name: 'informer-sync',
    endpoints: ['readyz'] as const,
    check: () => (stopped ? ({ state: 'stopped', reason: 'shutting down' } as const) : ({ state: 'ready' } as const)),
  }
  const server = await serveHttp(
    { routes, checks: [check], metrics: createMetricsRegistry(), notReady: () => void (stopped = true) },
    {
      listen: { host: '127.0.0.1', port: 0 },
      authenticate: () => USER,
      authorize: allowAll,
      alwaysAllowPaths: ['/readyz'],
      inFlight: { readOnly: 400, mutating: 200 },
      requestTimeoutMs: 60_000,
      shutdown: { delayMs: 0 },
      ...options,
    },
    runtime,
    lifecycle,
  )
  return { server, lifecycle }
}

describe('before the first sync is over', () => {
  it('503 with Retry-After, from the first moment, in place of short lists; the reason is named', async () => {
    let waiting: string | undefined = 'the clusters are not known yet'
    const handler: ApiHandler = (_request, response) => Promise.resolve(void response.end('full'))
    const route = whenSynced({ waitsFor: () => waiting }, { prefix: SEARCH, handler, errorField: true })
    const { server, lifecycle } = await start([route])
    const client = createTestClient({ url: server.url })
    const early = await client.request(`${SEARCH}/cache/api/v1/pods`)
    const { reason, message, error } = early.json() as Record<string, unknown>
    assert.deepEqual([early.status, reason, early.headers['retry-after']], [503, 'ServiceUnavailable', '1'])
    assert.deepEqual([message, error], Array(2).fill('not ready: the clusters are not known yet'))
    waiting = undefined
    assert.equal((await client.request(`${SEARCH}/cache/api/v1/pods`)).text, 'full')
    await client.close()
    await lifecycle.stop(1_000)
  })
})

for (const http2 of [false, true]) {
  describe(`while it stops, over HTTP/${http2 ? 2 : 1.1}`, () => {
    it('what is under way is answered, streams end, nothing new is taken', async () => {
      const { requests, handler } = pending()
      const tls = await trustedTls({ http2 })
      const routes = [{ prefix: '/apis/search.karmada.io/v1alpha1', handler }]
      const { server, lifecycle } = await start(routes, { listen: { host: '127.0.0.1', port: 0, tls: tls.tls } })
      const client = createTestClient({ url: server.url, caPem: tls.caPem, http2 })
      const list = client.request(`${SEARCH}/cache/api/v1/pods`)
      const watch = client.request(WATCH)
      await until(() => requests.length === 2, 'both requests')
      const stopping = lifecycle.stop(10_000)
      const ended = await watch
      assert.equal(ended.status, 503, 'a watch that has sent nothing')
      requests[0]!.finish()
      const answer = await list
      assert.deepEqual([answer.status, answer.text], [200, 'done'])
      await stopping
      await assert.rejects(client.request('/readyz'))
      await client.close()
    })

    it('readiness ends first; requests are served for the shutdown delay', async () => {
      const clock = new FakeClock()
      const handler: ApiHandler = (_request, response) => Promise.resolve(void response.end('full'))
      const tls = await trustedTls({ http2 })
      const { server, lifecycle } = await start(
        [{ prefix: SEARCH, handler }],
        { listen: { host: '127.0.0.1', port: 0, tls: tls.tls }, shutdown: { delayMs: 5_000 } },
        clock,
      )
      const client: TestClient = createTestClient({ url: server.url, caPem: tls.caPem, http2 })
      assert.equal((await client.request('/readyz')).status, 200)
      const stopping = lifecycle.stop(15_000)
      assert.match((await client.request('/readyz')).text, /informer-sync stopped: shutting down/)
      const served = await client.request(`${SEARCH}/cache/api/v1/pods`)
      assert.equal(served.text, 'full')
      // Who has always a request under way would be cut at the end. HTTP/2 has GOAWAY for that.
      assert.equal(served.headers['connection'], http2 ? undefined : 'close')
      await clock.advance(5_000)
      await clock.advanceUntil(() => clock.pending === 0)
      await stopping
      await assert.rejects(client.request('/readyz'))
      await client.close()
    })

    it('says 429 to what is new, and goes on with what is not, where it is asked to send Retry-After', async () => {
      const { requests, handler } = pending()
      let asked = 0
      const tls = await trustedTls({ http2 })
      const { server, lifecycle } = await start([{ prefix: '/apis/search.karmada.io/v1alpha1', handler }], {
        listen: { host: '127.0.0.1', port: 0, tls: tls.tls },
        shutdown: { delayMs: 0, sendRetryAfter: true, watchGraceMs: 100 },
        authenticate: () => ((asked += 1), USER),
      })
      const client = createTestClient({ url: server.url, caPem: tls.caPem, http2 })
      const newcomer = createTestClient({ url: server.url, caPem: tls.caPem, http2 })
      const list = client.request(`${SEARCH}/cache/api/v1/pods`)
      const watch = client.request(WATCH)
      await until(() => requests.length === 2, 'both requests')
      const stopping = lifecycle.stop(10_000)
      assert.equal((await watch).status, 503, 'a watch that has sent nothing')
      for (const each of [newcomer, newcomer]) {
        const refused = await each.request(`${SEARCH}/cache/api/v1/pods`)
        const { code, message } = refused.json() as Record<string, unknown>
        assert.deepEqual(
          [refused.status, refused.headers['retry-after'], code, message],
          [429, '5', 429, 'The apiserver is shutting down, please try again later.'],
        )
        assert.equal(refused.headers['connection'], http2 ? undefined : 'close')
      }
      assert.equal(asked, 2, 'nobody is asked who he is to be refused')
      assert.equal((await newcomer.request('/readyz')).status, 503, 'probes are answered as ever')
      requests[0]!.finish()
      assert.equal((await list).text, 'done')
      await stopping
      await assert.rejects(newcomer.request('/readyz'))
      await Promise.all([client.close(), newcomer.close()])
    })
  })
}

it('429 asks a client that connects over HTTP/2 meanwhile to go elsewhere, and refuses no stream', async () => {
  const { requests, handler } = pending()
  const tls = await trustedTls({ http2: true })
  const { server, lifecycle } = await start([{ prefix: '/apis/search.karmada.io/v1alpha1', handler }], {
    listen: { host: '127.0.0.1', port: 0, tls: tls.tls },
    shutdown: { delayMs: 0, sendRetryAfter: true },
  })
  const client = createTestClient({ url: server.url, caPem: tls.caPem })
  const list = client.request(`${SEARCH}/cache/api/v1/pods`)
  await until(() => requests.length === 1, 'the request')
  const stopping = lifecycle.stop(10_000)
  const session = connect(server.url, { ca: tls.caPem })
  const told: unknown[] = []
  session.on('goaway', (code, lastStream) => told.push([code, lastStream]))
  const refused = session.request({ ':path': `${SEARCH}/cache/api/v1/pods` })
  const [headers] = (await once(refused, 'response')) as [IncomingHttpHeaders]
  assert.equal(headers[':status'], 429)
  await until(() => told.length > 0, 'GOAWAY')
  assert.deepEqual(told, [[constants.NGHTTP2_NO_ERROR, 2 ** 31 - 1]])
  refused.destroy()
  session.destroy()
  requests[0]!.finish()
  await list
  await stopping
  await client.close()
})

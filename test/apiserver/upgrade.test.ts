import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { createListener } from '../../src/apiserver/create-listener.ts'
import type { ListenerOptions } from '../../src/apiserver/listener-options.ts'
import { createAuditor } from '../../src/apiserver/audit/auditor.ts'
import type { AuditEvent } from '../../src/apiserver/audit/event.ts'
import { parseAuditPolicy } from '../../src/apiserver/audit/policy.ts'
import { bearerTokenAuthenticator } from '../../src/apiserver/authn/bearer-token.ts'
import { guardLoopback } from '../../src/apiserver/loopback-guard.ts'
import { RequestMetrics } from '../../src/apiserver/request-metrics.ts'
import { listen, type RunningServer, type TlsOptions } from '../../src/apiserver/server.ts'
import type { ApiHandler, ApiRequest } from '../../src/http/api-request.ts'
import { sendJson } from '../../src/http/answer.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { systemClock } from '../../src/util/clock.ts'
import { FakeClock, until } from '../support/fake-clock.ts'
import { trustedTls } from '../support/test-tls.ts'
import { askUpgrade, readToEnd, type UpgradeWish } from '../support/upgrade-client.ts'

const EXEC = '/apis/search.karmada.io/v1alpha1/proxying/karmada/proxy/api/v1/namespaces/a/pods/p/exec?command=sh'

const LINES = ['Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1', 'X-Stream-Protocol-Version', 'v4.channel.k8s.io']

/** Says back what it hears, in capitals, and at the end `bye`. */
const shout: ApiHandler = async ({ upgrade }) => {
  assert.ok(upgrade)
  const socket = upgrade.accept(LINES)
  socket.on('data', (chunk) => socket.write(String(chunk).toUpperCase()))
  socket.on('end', () => socket.end('bye'))
  await once(socket, 'close')
}

describe('upgrades on the listener', () => {
  let server: RunningServer | undefined
  afterEach(async () => {
    await server?.close(0)
    server = undefined
  })

  async function start(
    handler: ApiHandler,
    { tls, ...overrides }: Partial<ListenerOptions> & { readonly tls?: TlsOptions } = {},
  ) {
    const registry = createMetricsRegistry()
    const listener = createListener({
      routes: [{ prefix: '/apis/search.karmada.io/v1alpha1/proxying', handler }],
      fallback: (request, response) => sendJson({ request, response }, { plain: request.upgrade === undefined }),
      authenticate: () => ({ name: 'bob', uid: '', groups: [], extra: {} }),
      authorize: () => Promise.resolve({ allowed: true, reason: '' }),
      alwaysAllowPaths: [],
      inFlight: { readOnly: 1, mutating: 1 },
      requestTimeoutMs: 60_000,
      metrics: new RequestMetrics(registry),
      log: createLogger('silent', { write: () => undefined }),
      clock: systemClock,
      signal: new AbortController().signal,
      ...overrides,
    })
    const where = { host: '127.0.0.1', port: 0, ...(tls === undefined ? {} : { tls }) }
    server = await listen(listener, where, overrides.clock ?? systemClock)
    const { url } = server
    return { registry, url, ask: (wish: Partial<UpgradeWish> = {}) => askUpgrade({ url: url + EXEC, ...wish }) }
  }

  async function talk(socket: Socket | undefined): Promise<string> {
    assert.ok(socket)
    const heard = readToEnd(socket)
    socket.write('some ')
    socket.end('words')
    return heard
  }

  for (const [name, http2] of [
    ['HTTP', undefined],
    ['TLS', false],
    ['TLS beside HTTP/2', true],
  ] as const) {
    it(`hands the connection over, and each end is told of the other's: ${name}`, async () => {
      const { tls, caPem } = await trustedTls(http2 === undefined ? {} : { http2 })
      const { ask } = await start(shout, http2 === undefined ? {} : { tls })
      const answer = await ask({ caPem })
      assert.equal(answer.status, 101)
      assert.deepEqual(answer.lines.slice(-LINES.length), LINES)
      assert.equal(await talk(answer.socket), 'SOME WORDSbye')
    })
  }

  it('keeps what the client sent right behind its request', async () => {
    const { url } = await start(shout)
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' })
    socket.end(`POST ${EXEC} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n\r\nearly`)
    assert.match(await readToEnd(socket), /^HTTP\/1\.1 101 [^]*\r\n\r\nEARLYbye$/)
  })

  it('answers what is refused with a plain status, and no more on that connection', async () => {
    const handler: ApiHandler = () => assert.fail('refused before')
    const denied = await start(handler, { authorize: () => Promise.resolve({ allowed: false, reason: 'no' }) })
    const forbidden = await denied.ask()
    assert.equal(forbidden.status, 403)
    assert.match(forbidden.body, /cannot create resource \\"proxying\/proxy\\"/)
    assert.equal(forbidden.headers.connection, 'close')
    assert.match((await denied.ask({ protocol: 'websocket' })).body, /cannot get resource \\"proxying\/proxy\\"/)
    await server?.close(0)
    const nobody = await start(handler, { authenticate: () => undefined })
    assert.equal((await nobody.ask()).status, 401)
  })

  it('is no matter for paths that have no other protocol, and none for HTTP/2 in the clear', async () => {
    const { url } = await start(shout)
    const websocket = await askUpgrade({ url: `${url}/version`, protocol: 'websocket' })
    assert.deepEqual([websocket.status, websocket.body], [200, '{"plain":false}\n'])
    const h2c = await askUpgrade({ url: `${url}/version`, protocol: 'h2c' })
    assert.deepEqual([h2c.status, h2c.body], [200, '{"plain":true}\n'])
  })

  it('refuses the WebSockets of HTTP/2, which are not offered', async () => {
    const { tls, caPem } = await trustedTls()
    const { url } = await start(shout, { tls })
    const session = connectHttp2(url, { ca: caPem })
    const [settings] = (await once(session, 'remoteSettings')) as [{ enableConnectProtocol?: boolean }]
    assert.equal(settings.enableConnectProtocol, false)
    const stream = session.request({ ':method': 'CONNECT', ':authority': '127.0.0.1' })
    const [headers] = (await once(stream, 'response')) as [{ ':status': number }]
    assert.equal(headers[':status'], 405)
    session.destroy()
  })

  it('takes no place in flight, and is written down and counted as it begins and ends', async () => {
    const events: AuditEvent[] = []
    const auditor = createAuditor({
      policy: parseAuditPolicy('{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"Metadata"}]}'),
      sink: { log: (event) => events.push(event) > 0 },
      strict: false,
      newId: () => 'id-1',
      clock: systemClock,
    })
    const { ask, registry } = await start(shout, { audit: auditor })
    const answers = await Promise.all([ask(), ask(), ask()])
    assert.deepEqual(
      answers.map(({ status, headers }) => [status, headers['audit-id']]),
      Array(3).fill([101, 'id-1']),
    )
    assert.match(await registry.metrics(), /apiserver_current_inflight_requests\{request_kind="watch"\} 3/)
    assert.deepEqual(
      events.map(({ stage }) => stage).filter((stage) => stage === 'ResponseComplete'),
      [],
    )
    for (const { socket } of answers) await talk(socket)
    await until(() => events.filter(({ stage }) => stage === 'ResponseComplete').length === 3)
    const complete = events.find(({ stage }) => stage === 'ResponseComplete')
    assert.equal(complete?.responseStatus?.code, 101)
    assert.equal(complete.verb, 'create')
    assert.equal(events.filter(({ stage }) => stage === 'ResponseStarted').length, 3)
    const metrics = await registry.metrics()
    assert.match(metrics, /request_total\{verb="watch",resource="proxying",subresource="proxy",code="101"\} 3/)
    assert.match(metrics, /apiserver_current_inflight_requests\{request_kind="watch"\} 0/)
  })

  it('tells a handler of a client that goes before it is answered', async () => {
    const asked = Promise.withResolvers<ApiRequest>()
    const { ask } = await start((request) => {
      asked.resolve(request)
      return new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(new Error('gone'))))
    })
    const gone = new AbortController()
    const answer = ask({ signal: gone.signal })
    const { signal } = await asked.promise
    gone.abort()
    await assert.rejects(answer)
    await until(() => signal.aborted)
  })

  it('goes on while the server drains, and is cut at the end of its grace', async () => {
    const clock = new FakeClock()
    const stop = new AbortController()
    const { ask } = await start(shout, { signal: stop.signal, clock })
    const { socket } = await ask()
    assert.ok(socket)
    stop.abort(new Error('shutting down'))
    const stopped = server!.close(5_000)
    server = undefined
    socket.write('finish this')
    assert.equal(String((await once(socket, 'data'))[0]), 'FINISH THIS')
    await clock.advance(4_999)
    socket.write('and this')
    assert.equal(String((await once(socket, 'data'))[0]), 'AND THIS')
    const cut = readToEnd(socket)
    await clock.advance(1)
    await cut
    await stopped
    socket.destroy()
  })

  it('keeps pages of other sites away', async () => {
    const { ask } = await start(shout, { guard: guardLoopback })
    const foreign = await ask({ protocol: 'websocket', headers: { origin: 'https://evil.example' } })
    assert.equal(foreign.status, 403)
    const rebound = await ask({ protocol: 'websocket', headers: { host: 'evil.example' } })
    assert.equal(rebound.status, 403)
    const own = await ask({ protocol: 'websocket', headers: { origin: server!.url } })
    own.socket?.destroy()
    assert.equal(own.status, 101)
  })

  it('knows a browser by the token among its subprotocols', async () => {
    const reviewed: string[] = []
    const authenticate = bearerTokenAuthenticator({
      post: (review) => {
        reviewed.push((review as { spec: { token: string } }).spec.token)
        return Promise.resolve({ status: { authenticated: true, user: { username: 'alice' } } })
      },
      ttlMs: 0,
      monotonicMs: () => 0,
      signal: new AbortController().signal,
    })
    const users: string[] = []
    const { ask } = await start(
      ({ user }, response) => {
        users.push(user.name)
        response.writeHead(400).end()
        return Promise.resolve()
      },
      { authenticate },
    )
    const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('s3cret').toString('base64url')}`
    const status = async (protocols: string, protocol = 'websocket') =>
      (await ask({ protocol, headers: { 'sec-websocket-protocol': protocols } })).status
    assert.equal(await status(`v5.channel.k8s.io, ${token}`), 400)
    assert.deepEqual([users, reviewed], [['alice'], ['s3cret']])
    // None beside it; two of them; not base64url; not UTF-8; not for a WebSocket.
    assert.equal(await status(token), 401)
    assert.equal(await status(`v5.channel.k8s.io, ${token}, ${token}`), 401)
    assert.equal(await status('v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.a=b'), 401)
    assert.equal(await status('v5.channel.k8s.io, base64url.bearer.authorization.k8s.io._w'), 401)
    assert.equal(await status(`v5.channel.k8s.io, ${token}`, 'SPDY/3.1'), 401)
    assert.equal(reviewed.length, 1)
  })
})

import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import request from 'supertest'
import { createApp, mountApp } from '../../src/apiserver/create-app.ts'
import { createListener } from '../../src/apiserver/create-listener.ts'
import type { ListenerOptions } from '../../src/apiserver/listener-options.ts'
import type { Route } from '../../src/apiserver/route.ts'
import { PING } from '../../src/apiserver/health.ts'
import { createPlainPaths } from '../../src/apiserver/plain-paths.ts'
import { RequestMetrics } from '../../src/apiserver/request-metrics.ts'
import type { UserInfo } from '../../src/http/api-request.ts'
import { badRequest, StatusError } from '../../src/kube/status-error.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { FakeClock, until } from '../support/fake-clock.ts'

const extras = (): object => Object.create(null) as object

const BASE = '/apis/search.karmada.io/v1alpha1'

function setUp(routes: readonly Route[], overrides: Partial<ListenerOptions> = {}) {
  const registry = createMetricsRegistry()
  const clock = new FakeClock()
  const stop = new AbortController()
  const plainPaths = createPlainPaths({
    version: '1.2.3',
    checks: [PING],
    metrics: registry,
    platform: 'test',
    paths: ['/version'],
  })
  const logged: string[] = []
  const log = createLogger('info', { write: (line: string) => logged.push(line) })
  const listener = createListener({
    routes,
    fallback: mountApp(createApp(), plainPaths),
    authenticate: () => ({ name: 'bob', uid: '', groups: [], extra: {} }),
    authorize: () => Promise.resolve({ allowed: true, reason: '' }),
    alwaysAllowPaths: ['/healthz'],
    inFlight: { readOnly: 0, mutating: 0 },
    requestTimeoutMs: 60_000,
    metrics: new RequestMetrics(registry),
    log,
    clock,
    signal: stop.signal,
    ...overrides,
  })
  return { server: createServer(listener), clock, stop, logged, registry }
}

const search = (handler: Route['handler']): Route => ({ prefix: `${BASE}/search/cache`, handler, errorField: true })

describe('request listener', () => {
  let server: Server | undefined
  afterEach(() => {
    server?.closeAllConnections()
    server?.close()
    server = undefined
  })

  it('hands a route what is below it, untouched', async () => {
    const seen: unknown[] = []
    const setup = setUp([
      search((req, res) => {
        seen.push([req.method, req.path, req.rawQuery, req.user.name])
        res.end('{}')
        return Promise.resolve()
      }),
    ])
    await request(setup.server).get(`${BASE}/search/cache/api/v1/pods%2Fx?a=1&a=%20`).expect(200)
    assert.deepEqual(seen, [['GET', '/api/v1/pods%2Fx', 'a=1&a=%20', 'bob']])
    assert.match(
      await setup.registry.metrics(),
      /apiserver_request_total\{verb="get",resource="search",subresource="api",code="200"\} 1/,
    )
  })

  it('does not take a longer name for a route', async () => {
    const setup = setUp([search(() => assert.fail('not this route'))])
    const { body } = await request(setup.server).get(`${BASE}/search/cachex`).expect(404)
    assert.equal((body as { kind: string }).kind, 'Status')
  })

  it('says what the client did wrong, twice under search', async () => {
    const setup = setUp([search(() => Promise.reject(badRequest('limit is no number')))])
    const { body } = await request(setup.server).get(`${BASE}/search/cache/api/v1/pods`).expect(400)
    assert.deepEqual(body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'limit is no number',
      reason: 'BadRequest',
      code: 400,
      error: 'limit is no number',
    })
  })

  it('answers 500 for its own faults without their text, counts and logs them', async () => {
    const setup = setUp([search(() => Promise.reject(new Error('password=hunter2')))])
    const { body, text } = await request(setup.server).get(`${BASE}/search/cache/x`).expect(500)
    assert.equal((body as { reason: string }).reason, 'InternalError')
    assert.doesNotMatch(text, /hunter2/)
    assert.equal(setup.logged.length, 1)
    assert.match(await setup.registry.metrics(), /fleetsearch_request_faults_total 1/)
  })

  it('tells why what stands behind it fails, the same only now and then', async () => {
    const failing = search(() => {
      throw new StatusError('serviceUnavailable', 'no store', { cause: new Error('index_out_of_bounds_exception') })
    })
    const { server: listening, logged, clock } = setUp([failing])
    server = listening
    const fail = async (): Promise<void> => {
      const { text } = await request(listening).get(`${BASE}/search/cache/x`).expect(503)
      assert.doesNotMatch(text, /index_out/)
    }
    for (let i = 0; i < 3; i++) await fail()
    assert.equal(logged.length, 1)
    assert.match(logged[0] ?? '', /index_out_of_bounds_exception/)
    await clock.advance(10_000)
    await fail()
    assert.equal(logged.length, 2)
    assert.match(logged[1] ?? '', /"untold":2/)
  })

  it('tells who is ready to anybody, and why it is not to whoever says who he is', async () => {
    const check = {
      name: 'sync',
      endpoints: ['readyz'] as const,
      check: () => ({ state: 'pending', reason: 'waits for secret-cluster' }) as const,
    }
    const fallback = createPlainPaths({
      version: '1.2.3',
      checks: [check],
      metrics: createMetricsRegistry(),
      platform: 'test',
      paths: [],
    })
    const options = { fallback, alwaysAllowPaths: ['/readyz'] }
    const told = await request(setUp([], options).server).get('/readyz').expect(503)
    assert.match(told.text, /waits for secret-cluster/)
    const anybody = await request(setUp([], { ...options, authenticate: () => undefined }).server).get(
      '/readyz?verbose',
    )
    assert.deepEqual([anybody.status, anybody.text], [503, '[-]sync pending: reason withheld\nreadyz check failed\n'])
  })

  it('refuses nobody and whoever has no right, in the words of a kube-apiserver', async () => {
    const nobody = setUp([], { authenticate: () => undefined })
    await request(nobody.server).get('/version').expect(401)
    await request(nobody.server).get('/healthz').expect(200, 'ok')
    const noRight = setUp([], { authorize: () => Promise.resolve({ allowed: false, reason: '' }) })
    const { body } = await request(noRight.server).get(`${BASE}/search/cache/api/v1/pods`).expect(403)
    assert.equal(
      (body as { message: string }).message,
      'search.search.karmada.io "cache" is forbidden: User "bob" cannot get resource "search/api" in API group "search.karmada.io" at the cluster scope',
    )
    await request(noRight.server).get('/metrics').expect(403)
  })

  it('acts as somebody else only where that is allowed, in the words of a kube-apiserver', async () => {
    const asked: string[] = []
    const users: UserInfo[] = []
    const setup = setUp(
      [
        search(({ user }, response) => {
          users.push(user)
          response.end('{}')
          return Promise.resolve()
        }),
      ],
      {
        authorize: (user, attributes) => {
          const { verb } = attributes
          const what = attributes.isResource ? `${attributes.resource}/${attributes.name}` : attributes.path
          asked.push(`${user.name} ${verb} ${what}`)
          return Promise.resolve({ allowed: what !== 'groups/system:masters', reason: '' })
        },
      },
    )
    const get = () => request(setup.server).get(`${BASE}/search/cache/x`)
    await get().set('Impersonate-User', 'alice').set('Impersonate-Group', 'dev').expect(200)
    assert.deepEqual(asked, ['bob impersonate users/alice', 'bob impersonate groups/dev', 'alice get search/cache'])
    assert.deepEqual(users[0], { name: 'alice', uid: '', groups: ['dev', 'system:authenticated'], extra: extras() })
    const { body } = await get().set('Impersonate-User', 'alice').set('Impersonate-Group', 'system:masters').expect(403)
    assert.equal(
      (body as { message: string }).message,
      'groups "system:masters" is forbidden: User "bob" cannot impersonate resource "groups" in API group "" at the cluster scope',
    )
    for (const headers of [
      { 'Impersonate-Group': 'system:masters' },
      { 'Impersonate-User': '', 'Impersonate-Uid': '1' },
      { 'Impersonate-User': '' },
      { 'Impersonate-User': 'alice', 'Impersonate-Something': 'x' },
    ]) {
      await get().set(headers).expect(400)
    }
    assert.equal(users.length, 1)
  })

  it('fails closed when rights cannot be decided', async () => {
    const setup = setUp([search(() => assert.fail('not to be reached'))], {
      authorize: () => Promise.reject(new Error('down')),
    })
    await request(setup.server).get(`${BASE}/search/cache/x`).expect(500)
  })

  it('times a request out, but no watch', async () => {
    const signals: AbortSignal[] = []
    const wait: Route['handler'] = ({ signal }) =>
      new Promise((_resolve, reject) => {
        signals.push(signal)
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error)
        })
      })
    const setup = setUp([search(wait), { prefix: `${BASE}/resourceregistries`, handler: wait }])
    server = setup.server.listen(0)
    await once(server, 'listening')
    const statusOf = (path: string): Promise<number> =>
      request(setup.server)
        .get(`${BASE}${path}`)
        .then((response) => response.status)
    const list = statusOf('/search/cache/x?watch=true')
    const watch = statusOf('/resourceregistries?watch=true')
    const hasty = statusOf('/search/cache/y?timeout=5s')
    await until(() => signals.length === 3)
    await setup.clock.advance(6_000)
    assert.equal(await hasty, 504)
    await setup.clock.advance(55_000)
    assert.equal(await list, 504)
    assert.equal(await statusOf('/search/cache/x?timeout=soon'), 400)
    assert.deepEqual(
      signals.map((signal) => signal.aborted),
      [true, false, true],
    )
    setup.stop.abort(new Error('stopping'))
    assert.equal(await watch, 503)
    assert.deepEqual(setup.logged, [])
  })

  it('answers in time even where its handler waits for a body that never comes, and keeps its place till then', async () => {
    let through = 0
    const slurp: Route['handler'] = async ({ incoming }, response) => {
      try {
        for await (const _chunk of incoming as AsyncIterable<Buffer>);
        response.end('{}')
      } finally {
        through += 1
      }
    }
    const setup = setUp([search(slurp)], { inFlight: { readOnly: 0, mutating: 1 } })
    server = setup.server.listen(0)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    socket.write(`POST ${BASE}/search/cache/x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{`)
    const closed = once(socket, 'close')
    let answer = ''
    socket.on('data', (chunk) => (answer += chunk.toString()))
    let entered = 0
    server.on('request', () => (entered += 1))
    await until(() => entered === 1)
    await setup.clock.advance(61_000)
    await until(() => answer.includes('"reason":"Timeout"'))
    assert.match(answer, /^HTTP\/1\.1 504 /)
    assert.equal((await request(server).post(`${BASE}/search/cache/x`)).status, 429)
    await setup.clock.advance(3_000)
    await closed
    await until(() => through === 1)
    assert.equal((await request(server).post(`${BASE}/search/cache/x`)).status, 200)
  })

  it('refuses a body that is too large before anything of it is read', async () => {
    const setup = setUp([search(() => assert.fail('not to be reached'))])
    const { body } = await request(setup.server)
      .post(`${BASE}/search/cache/x`)
      .send('x'.repeat(4 << 20))
      .expect(413)
    assert.equal((body as { reason: string }).reason, 'RequestEntityTooLarge')
  })

  it('keeps a bound on requests in flight', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let user: UserInfo = { name: 'bob', uid: '', groups: [], extra: {} }
    const setup = setUp([search((_req, res) => promise.then(() => void res.end('{}')))], {
      authenticate: () => user,
      inFlight: { readOnly: 1, mutating: 1 },
    })
    server = setup.server.listen(0)
    await once(server, 'listening')
    let entered = 0
    server.on('request', () => (entered += 1))
    const first = request(server)
      .get(`${BASE}/search/cache/x`)
      .then((response) => response.status)
    await until(() => entered === 1)
    const second = await request(server).get(`${BASE}/search/cache/x?watch=true`)
    assert.equal(second.status, 429)
    assert.equal(second.headers['retry-after'], '1')
    // Writes have a limit of their own, and an administrator gets in.
    const write = request(server)
      .post(`${BASE}/search/cache/x`)
      .then((response) => response.status)
    await until(() => entered === 3)
    assert.equal((await request(server).post(`${BASE}/search/cache/x`)).status, 429)
    user = { ...user, groups: ['system:masters'] }
    const third = request(server)
      .get(`${BASE}/search/cache/x`)
      .then((response) => response.status)
    await until(() => entered === 5)
    resolve()
    assert.deepEqual(await Promise.all([first, write, third]), [200, 200, 200])
  })

  it('cuts the connection rather than let half an answer look whole', async () => {
    const setup = setUp([
      search((_req, res) => {
        res.write('{"items":[')
        return Promise.reject(new Error('midway'))
      }),
    ])
    await assert.rejects(
      request(setup.server)
        .get(`${BASE}/search/cache/x`)
        .then((response) => response.text),
    )
  })

  it('serves discovery, plain and aggregated', async () => {
    const setup = setUp([])
    const plain = await request(setup.server).get('/apis').expect(200)
    assert.equal((plain.body as { kind: string }).kind, 'APIGroupList')
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'
    const aggregated = await request(setup.server).get('/apis').set('accept', accept).expect(200)
    assert.equal((aggregated.body as { kind: string }).kind, 'APIGroupDiscoveryList')
    assert.match(aggregated.headers['content-type'] ?? '', /as=APIGroupDiscoveryList/)
    await request(setup.server)
      .get('/openapi/v2')
      .set('accept', 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf')
      .expect(406)
    await request(setup.server).get('/no/such/path').expect(404)
    await request(setup.server).get('/healthz/ping').expect(200, 'ok')
    await request(setup.server).get('/readyz?verbose').expect(200, '[+]ping ok\nreadyz check passed\n')
  })
})

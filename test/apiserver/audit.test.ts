import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { once } from 'node:events'
import { afterEach, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import request from 'supertest'
import { createAuditor, type AuditSink } from '../../src/apiserver/audit/auditor.ts'
import { eventLine, type AuditEvent } from '../../src/apiserver/audit/event.ts'
import { BatchSink } from '../../src/apiserver/audit/batch-sink.ts'
import { LogSink } from '../../src/apiserver/audit/log-sink.ts'
import { parseAuditPolicy } from '../../src/apiserver/audit/policy.ts'
import { createListener } from '../../src/apiserver/create-listener.ts'
import type { ListenerOptions } from '../../src/apiserver/listener-options.ts'
import type { Route } from '../../src/apiserver/route.ts'
import { readBody } from '../../src/apiserver/registries/decode-body.ts'
import { RequestMetrics } from '../../src/apiserver/request-metrics.ts'
import { listen } from '../../src/apiserver/server.ts'
import type { ApiHandler, UserInfo } from '../../src/http/api-request.ts'
import { badRequest, StatusError } from '../../src/kube/status-error.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { Counter, createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { systemClock } from '../../src/util/clock.ts'
import { FakeClock, until } from '../support/fake-clock.ts'
import { testTls } from '../support/test-tls.ts'

const BASE = '/apis/search.karmada.io/v1alpha1'
const REGISTRIES = `${BASE}/resourceregistries`
const BOB: UserInfo = { name: 'bob', uid: '7', groups: ['dev'], extra: { 'example.org/team': ['x'] } }
const REGISTRY = {
  kind: 'ResourceRegistry',
  metadata: { name: 'a', managedFields: [{ manager: 'm' }] },
  spec: { x: 1 },
}

/** Reads the body and answers with `answer`. */
function answering(answer: unknown, type = 'application/json'): ApiHandler {
  return async ({ incoming, method }, response) => {
    if (method !== 'GET') await readBody(incoming, [type, 'application/json', 'application/yaml'])
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(JSON.stringify(answer).slice(0, 5))
    response.end(JSON.stringify(answer).slice(5))
  }
}

interface SetUp {
  readonly level?: string
  readonly policy?: string
  readonly handler?: ApiHandler
  readonly strict?: boolean
  readonly sink?: AuditSink
  readonly overrides?: Partial<ListenerOptions>
}

describe('audit log', () => {
  const servers: Server[] = []
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
  })

  function setUp({ level = 'RequestResponse', policy, handler = answering(REGISTRY), ...more }: SetUp = {}) {
    const events: AuditEvent[] = []
    const clock = new FakeClock()
    const routes: Route[] = ['resourceregistries', 'proxying', 'search'].map((name) => ({
      prefix: `${BASE}/${name}`,
      handler,
    }))
    const listener = createListener({
      routes,
      fallback: handler,
      authenticate: () => BOB,
      authorize: () => Promise.resolve({ allowed: true, reason: 'because' }),
      alwaysAllowPaths: ['/healthz'],
      inFlight: { readOnly: 0, mutating: 0 },
      requestTimeoutMs: 60_000,
      metrics: new RequestMetrics(createMetricsRegistry()),
      log: createLogger('silent'),
      clock,
      signal: new AbortController().signal,
      audit: createAuditor({
        policy: parseAuditPolicy(
          policy ??
            `{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: ${level}}], omitStages: [RequestReceived]}`,
        ),
        sink: more.sink ?? { log: (event) => events.push(event) > 0 },
        strict: more.strict ?? false,
        newId: () => 'new-id',
        clock,
      }),
      ...more.overrides,
    })
    const server = createServer(listener).listen(0)
    servers.push(server)
    return { server, events, clock, listener }
  }

  it('says who did what to what, from where and when, and how it ended', async () => {
    const { server, events } = setUp({
      policy: '{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}',
    })
    const answer = await request(server)
      .get(`${REGISTRIES}/a?pretty=true`)
      .set('User-Agent', 'k'.repeat(2_000))
      .set('X-Forwarded-For', '10.1.2.3, nonsense')
      .set('X-Real-IP', '10.4.5.6')
      .expect(200)
    assert.equal(answer.headers['audit-id'], 'new-id')
    await until(() => events.length === 2)
    const common = {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: 'new-id',
      requestURI: `${REGISTRIES}/a?pretty=true`,
      verb: 'get',
      user: { username: 'bob', uid: '7', groups: ['dev'], extra: { 'example.org/team': ['x'] } },
      sourceIPs: ['10.1.2.3', '10.4.5.6', '127.0.0.1'],
      userAgent: `${'k'.repeat(1_024)}...TRUNCATED`,
      objectRef: { resource: 'resourceregistries', name: 'a', apiGroup: 'search.karmada.io', apiVersion: 'v1alpha1' },
      requestReceivedTimestamp: '2026-11-30T00:00:00.000000Z',
      stageTimestamp: '2026-11-30T00:00:00.000000Z',
    }
    assert.deepEqual(events, [
      { ...common, stage: 'RequestReceived' },
      {
        ...common,
        stage: 'ResponseComplete',
        responseStatus: { metadata: {}, code: 200 },
        annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': 'because' },
      },
    ])
  })

  it('keeps the id a caller brings, if it is one', async () => {
    const { server, events } = setUp()
    assert.equal((await request(server).get('/x').set('Audit-ID', 'his-own')).headers['audit-id'], 'his-own')
    assert.equal((await request(server).get('/x').set('Audit-ID', 'x'.repeat(65))).headers['audit-id'], 'new-id')
    await until(() => events.length === 2)
    assert.deepEqual(
      events.map(({ auditID }) => auditID),
      ['his-own', 'new-id'],
    )
  })

  it('writes down who was refused, and why', async () => {
    const nobody = setUp({ overrides: { authenticate: () => undefined } })
    await request(nobody.server).get(REGISTRIES).expect(401)
    await until(() => nobody.events.length === 1)
    assert.deepEqual(nobody.events[0]?.user, {})
    assert.equal(nobody.events[0]?.responseStatus?.reason, 'Unauthorized')
    const strange = setUp({
      overrides: { authenticate: () => Promise.reject(new StatusError('unauthorized', 'Unauthorized')) },
    })
    await request(strange.server).get(REGISTRIES).expect(401)
    await until(() => strange.events.length === 1)
    const denied = setUp({ overrides: { authorize: () => Promise.resolve({ allowed: false, reason: 'no' }) } })
    await request(denied.server).get(REGISTRIES).expect(403)
    await until(() => denied.events.length === 1)
    assert.equal(denied.events[0]?.annotations?.['authorization.k8s.io/decision'], 'forbid')
    assert.equal(denied.events[0]?.responseStatus?.code, 403)
    assert.match(denied.events[0]?.responseStatus?.message ?? '', /bob.*cannot list/)
  })

  it('names both, who acted and whom he acted as', async () => {
    const { server, events } = setUp()
    await request(server).get(REGISTRIES).set('Impersonate-User', 'alice').expect(200)
    await until(() => events.length === 1)
    assert.equal(events[0]?.user.username, 'bob')
    assert.equal(events[0]?.impersonatedUser?.username, 'alice')
  })

  it('records bodies by level, JSON and YAML, and leaves what came whole', async () => {
    const bodies: unknown[] = []
    const handler: ApiHandler = async ({ incoming }, response) => {
      bodies.push((await readBody(incoming)).value)
      response.end(JSON.stringify(REGISTRY))
    }
    const { server, events } = setUp({ handler })
    const large = { ...REGISTRY, spec: { x: 'y'.repeat(200_000) } }
    await request(server).post(REGISTRIES).send(large).expect(200)
    await request(server)
      .put(`${REGISTRIES}/a`)
      .set('content-type', 'application/yaml')
      .send('spec:\n  x: 2\n')
      .expect(200)
    await until(() => events.length === 2)
    assert.deepEqual(
      events.map(({ requestObject }) => requestObject),
      [large, { spec: { x: 2 } }],
    )
    assert.deepEqual(bodies, [large, { spec: { x: 2 } }])
    assert.deepEqual(events[0]?.responseObject, REGISTRY)
    const less = setUp({ level: 'Request' })
    await request(less.server).post(REGISTRIES).send(REGISTRY).expect(200)
    await until(() => less.events.length === 1)
    assert.deepEqual(less.events[0]?.requestObject, REGISTRY)
    assert.equal(less.events[0]?.responseObject, undefined)
    const least = setUp({ level: 'Metadata' })
    await request(least.server).post(REGISTRIES).send(REGISTRY).expect(200)
    await until(() => least.events.length === 1)
    assert.equal(least.events[0]?.requestObject, undefined)
  })

  it('leaves managed fields out where it is told to', async () => {
    const { server, events } = setUp({
      handler: answering({ kind: 'List', items: [REGISTRY] }),
      policy:
        '{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: RequestResponse, omitManagedFields: true}]}',
    })
    await request(server).post(REGISTRIES).send(REGISTRY).expect(200)
    await until(() => events.length === 1)
    assert.deepEqual(events[0]?.requestObject, { ...REGISTRY, metadata: { name: 'a' } })
    assert.deepEqual(events[0]?.responseObject, { kind: 'List', items: [{ ...REGISTRY, metadata: { name: 'a' } }] })
  })

  it('never records a Secret, whatever the policy says, the path, or the object', async () => {
    const secret = { kind: 'Secret', metadata: { name: 's' }, data: { password: 'aHVudGVyMg==' } }
    const native = `${BASE}/proxying/karmada/proxy`
    for (const [path, answer] of [
      [`${native}/api/v1/namespaces/a/secrets/s`, secret],
      [`${native}/api/v1/namespaces/a/secrets`, { kind: 'Table', rows: [{ cells: ['aHVudGVyMg=='] }] }],
      [`${BASE}/search/cache/api/v1/secrets`, { kind: 'SecretList', items: [secret] }],
      [
        `${native}/api/v1/namespaces/a/serviceaccounts/x/token`,
        { kind: 'TokenRequest', status: { token: 'aHVudGVyMg==' } },
      ],
      [
        `${native}/apis/authentication.k8s.io/v1/tokenreviews`,
        { kind: 'TokenReview', spec: { token: 'aHVudGVyMg==' } },
      ],
      [`${native}/api/v1/watch/secrets`, secret],
      [`${BASE}/search/query?q=a`, { kind: 'QueryResult', items: [{ object: secret }] }],
      // A path that says nothing of it.
      [`${native}/api/v1/namespaces/a/configmaps/s`, secret],
      [`${native}/api/v1/namespaces/a/configmaps`, { kind: 'List', items: [{}, secret] }],
      [`${native}/api/v1/namespaces/a/configmaps`, { kind: 'Table', rows: [{ object: secret }] }],
    ] as const) {
      const { server, events } = setUp({ handler: answering(answer) })
      await request(server).post(path).send(answer).expect(200)
      await until(() => events.length === 1)
      assert.doesNotMatch(JSON.stringify(events), /aHVudGVyMg/, path)
    }
    const fine = setUp({ handler: answering({ kind: 'ConfigMap', data: { a: 'b' } }) })
    await request(fine.server).get(`${native}/api/v1/namespaces/a/configmaps/s`).expect(200)
    await until(() => fine.events.length === 1)
    assert.deepEqual(fine.events[0]?.responseObject, { kind: 'ConfigMap', data: { a: 'b' } })
  })

  it('says what it left out: what is too large, no JSON, or too deep', async () => {
    const { server, events } = setUp({
      handler: ({ path }, response) => {
        if (path === '/gzip') {
          response.writeHead(200, { 'content-encoding': 'gzip' })
          response.end(gzipSync(JSON.stringify({ small: true })))
        } else if (path === '/bomb') {
          response.writeHead(200, { 'content-encoding': 'gzip' })
          response.end(gzipSync(Buffer.alloc(64 << 20, ' ')))
        } else if (path === '/large') response.end(JSON.stringify('x'.repeat(5 << 20)))
        else if (path === '/deep') response.end(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
        else response.end('no JSON')
        return Promise.resolve()
      },
    })
    const omitted = async (path: string): Promise<unknown> => {
      const before = events.length
      // Read to its end: a response that is left lying fails when its connection is closed, maybe in another test.
      await request(server)
        .get(`${REGISTRIES}${path}`)
        .buffer(true)
        .parse((response, done) => void response.on('data', () => undefined).on('end', () => done(null, '')))
      await until(() => events.length === before + 1)
      const event = events.at(-1)
      return event?.annotations?.['audit.fleetsearch.dev/response-omitted'] ?? event?.responseObject
    }
    assert.deepEqual(await omitted('/gzip'), { small: true })
    assert.equal(await omitted('/bomb'), 'unreadable')
    assert.equal(await omitted('/large'), 'tooLarge')
    assert.equal(await omitted('/text'), 'unreadable')
    assert.match(JSON.stringify(await omitted('/deep')), /unreadable|\[\[\[/)
  })

  it('tells when what lasts has begun, and when it ended', async () => {
    const { server, events } = setUp({
      handler: ({ signal }, response) => {
        response.writeHead(200)
        response.write('{}')
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
      },
    })
    const watching = request(server).get(`${REGISTRIES}?watch=1`)
    watching.end(() => undefined)
    await until(() => events.length === 1)
    assert.equal(events[0]?.stage, 'ResponseStarted')
    assert.deepEqual(events[0]?.responseStatus, { metadata: {}, code: 200 })
    watching.abort()
    await until(() => events.length === 2)
    assert.equal(events[1]?.stage, 'ResponseComplete')
    assert.equal(events[1]?.responseObject, undefined)
  })

  it('tells a fault of ours from a refusal', async () => {
    const fault = setUp({ handler: () => Promise.reject(new Error('secret text')) })
    await request(fault.server).get(REGISTRIES).expect(500)
    await until(() => fault.events.length === 1)
    assert.equal(fault.events[0]?.stage, 'Panic')
    assert.doesNotMatch(JSON.stringify(fault.events), /secret text/)
    const refusal = setUp({ handler: () => Promise.reject(badRequest('no')) })
    await request(refusal.server).get(REGISTRIES).expect(400)
    await until(() => refusal.events.length === 1)
    assert.equal(refusal.events[0]?.stage, 'ResponseComplete')
    assert.equal(refusal.events[0]?.responseStatus?.message, 'no')
  })

  it('refuses what it cannot write down, where it is told to be strict', async () => {
    const full: AuditSink = { log: () => false }
    const policy = '{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}'
    const strict = setUp({ sink: full, strict: true, policy, handler: () => assert.fail('not to be reached') })
    await request(strict.server).get(REGISTRIES).expect(500)
    const lax = setUp({ sink: full, policy })
    await request(lax.server).get(REGISTRIES).expect(200)
  })

  it('leaves the connection usable when nobody reads a body that is recorded', async () => {
    const handler: ApiHandler = (_request, response) => {
      response.end('{}')
      return Promise.resolve()
    }
    const { server, events } = setUp({ handler })
    await once(server, 'listening')
    const { Agent } = await import('node:http')
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let i = 0; i < 3; i++) {
      await request(server)
        .post(REGISTRIES)
        .agent(agent)
        .send({ x: 'y'.repeat(500_000) })
        .expect(200)
    }
    await until(() => events.length === 3)
    agent.destroy()
  })

  it('is the same over HTTP/2', async () => {
    const { listener, events } = setUp()
    const secure = await listen(listener, { host: '127.0.0.1', port: 0, tls: await testTls() }, systemClock)
    const session = connectHttp2(secure.url, { rejectUnauthorized: false })
    const stream = session.request({ ':method': 'POST', ':path': REGISTRIES, 'content-type': 'application/json' })
    stream.end(JSON.stringify(REGISTRY))
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
    stream.resume()
    await once(stream, 'close')
    assert.equal(headers['audit-id'], 'new-id')
    await until(() => events.length === 1)
    assert.deepEqual(events[0]?.requestObject, REGISTRY)
    assert.deepEqual(events[0]?.responseObject, REGISTRY)
    assert.deepEqual(events[0]?.sourceIPs, ['127.0.0.1'])
    session.destroy()
    await secure.close(0)
  })
})

describe('audit lines', () => {
  const event: AuditEvent = {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'RequestResponse',
    auditID: 'id',
    stage: 'ResponseComplete',
    requestURI: '/x?a="b"\n',
    verb: 'get',
    user: { username: 'bob', groups: ['a', 'b'] },
    sourceIPs: ['10.0.0.1'],
    userAgent: 'kubectl',
    requestObject: { text: 'x'.repeat(500) },
    responseStatus: { metadata: {}, code: 200 },
    requestReceivedTimestamp: '2026-11-30T00:00:00.000000Z',
    stageTimestamp: '2026-11-30T00:00:00.000000Z',
  }

  function sinks(maxEventBytes?: number) {
    const registers = [createMetricsRegistry()]
    const errors = new Counter({ name: 'errors', help: 'x', labelNames: ['plugin'], registers })
    const lines: string[] = []
    const logged: string[] = []
    const clock = new FakeClock()
    const state = { full: false }
    const sink = new LogSink({
      writer: {
        write(line) {
          if (state.full) throw new Error('ENOSPC')
          lines.push(line)
        },
      },
      format: 'json',
      ...(maxEventBytes === undefined ? {} : { maxEventBytes }),
      errors,
      log: createLogger('error', { write: (line: string) => logged.push(line) }),
      clock,
    })
    const counted = async (): Promise<string> => registers[0]!.metrics()
    return { sink, lines, logged, clock, errors, counted, state }
  }

  it('are one for each event, in JSON and as text', () => {
    const { sink, lines } = sinks()
    assert.equal(sink.log(event), true)
    assert.deepEqual(JSON.parse(lines[0] ?? ''), event)
    assert.ok(!lines[0]?.includes('\n'))
    assert.equal(
      eventLine(event, 'legacy'),
      '2026-11-30T00:00:00.000000Z AUDIT: id="id" stage="ResponseComplete" ip="10.0.0.1" method="get" user="bob" ' +
        'groups="\\"a\\",\\"b\\"" as="<self>" asgroups="<lookup>" user-agent="kubectl" namespace="<none>" ' +
        'uri="/x?a=\\"b\\"\\n" response="200"',
    )
  })

  it('that are too long lose their bodies, or are counted as lost', async () => {
    const { sink, lines, counted } = sinks(600)
    sink.log(event)
    const written = JSON.parse(lines[0] ?? '') as AuditEvent
    assert.equal(written.requestObject, undefined)
    assert.equal(written.annotations?.['audit.k8s.io/truncated'], 'true')
    assert.equal(sink.log({ ...event, requestURI: 'x'.repeat(1_000) }), false)
    assert.match(await counted(), /errors\{plugin="log"\} 1/)
  })

  it('that cannot be written are counted, and told of once a minute', async () => {
    const { sink, logged, clock, counted, state } = sinks()
    state.full = true
    for (let i = 0; i < 5; i++) assert.equal(sink.log(event), false)
    assert.equal(logged.length, 1)
    await clock.advance(60_000)
    sink.log(event)
    assert.equal(logged.length, 2)
    assert.match(await counted(), /errors\{plugin="log"\} 6/)
  })

  it('in batches come behind the requests, and are dropped when too many wait', async () => {
    const { sink, lines, clock, errors, counted } = sinks()
    const batches = new BatchSink(sink, { bufferSize: 5, maxSize: 3, maxWaitMs: 1_000, errors, clock })
    batches.log(event)
    await clock.advance(999)
    assert.equal(lines.length, 0)
    await clock.advance(1)
    assert.equal(lines.length, 1)
    for (let i = 0; i < 7; i++) assert.equal(batches.log(event), i < 5)
    await clock.advance(0)
    assert.equal(lines.length, 4)
    await clock.advance(1_000)
    assert.equal(lines.length, 6)
    assert.match(await counted(), /errors\{plugin="buffered"\} 2/)
    batches.log(event)
    await batches.flush()
    assert.equal(lines.length, 7)
    assert.equal(clock.pending, 0)
  })
})

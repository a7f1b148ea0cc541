/** Exec, attach, port-forward, logs and `proxy` through the whole service, over real sockets. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../support/fake-clock.ts'
import { AGREED, refuse, type SessionHandlers, type SessionMember } from '../support/session-member.ts'
import { askUpgrade, readToEnd, type UpgradeWish } from '../support/upgrade-client.ts'
import { eventually, type WholeServiceOptions } from '../support/whole-service.ts'
import { SessionWorld } from './session-world.ts'

const P = '/apis/search.karmada.io/v1alpha1/proxying/karmada/proxy'
const POD = '/api/v1/namespaces/default/pods/web-0'
const EXEC = `${POD}/exec?container=app&command=sh&command=-c&command=exit%207&stdout=true`

describe('sessions', () => {
  const world = new SessionWorld()
  const { members } = world
  afterEach(() => world.end())

  /** Each member has `web-0` unless said otherwise; `own-NAME` too. */
  async function start(
    handlers: Readonly<Record<string, SessionHandlers>>,
    options: WholeServiceOptions & { readonly pods?: Readonly<Record<string, readonly string[]>> } = {},
  ) {
    const { pods, ...rest } = options
    const running = await world.service(rest)
    for (const [name, own] of Object.entries(handlers)) {
      const member = await world.member(name, pods?.[name] ?? ['web-0', `own-${name}`], own)
      running.join(name, member.url)
    }
    await running.register('pods', 'v1/Pod')
    const count = Object.keys(handlers).length * 2
    await eventually(async () => {
      const { status, json } = await running.request(`${P}/api/v1/pods`).then((answer) => ({
        status: answer.status,
        json: answer.json() as { items?: unknown[] },
      }))
      return status === 200 && (json.items?.length ?? 0) >= (pods === undefined ? count : 1)
    }, 'the pods')
    const ask = (path: string, wish: Partial<UpgradeWish> = {}) => askUpgrade({ url: running.url + path, ...wish })
    return { running, ask, metrics: () => running.service.metrics.metrics() }
  }

  it('D6: carry SPDY and WebSockets to the owner as the caller, headers as they came and ours taken off', async () => {
    const { running, ask, metrics } = await start({ m1: {}, m2: {} }, { pods: { m1: ['web-0'], m2: ['web-1'] } })
    const [m1] = members as [SessionMember]
    const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('s3cret').toString('base64url')}`
    const headers = {
      authorization: 'Bearer s3cret',
      cookie: 'session=s3cret',
      'x-remote-user': 'root',
      'x-stream-protocol-version': ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
      'sec-websocket-protocol': `v5.channel.k8s.io, ${token}`,
      'sec-websocket-extensions': 'permessage-deflate; client_max_window_bits',
      'user-agent': 'kubectl/v1.36.3',
      'fleetsearch-cluster': 'm1',
    }
    for (const protocol of ['SPDY/3.1', 'websocket']) {
      const answer = await ask(P + EXEC, { protocol, headers })
      assert.equal(answer.status, 101)
      assert.equal(answer.headers['x-stream-protocol-version'], 'v4.channel.k8s.io')
      const heard = readToEnd(answer.socket!)
      answer.socket!.end('stdin')
      assert.equal(await heard, 'stdin')
    }
    const [spdy, websocket] = m1.upgrades
    assert.deepEqual([spdy?.method, websocket?.method], ['POST', 'GET'])
    assert.equal(spdy?.url, EXEC, 'byte for byte')
    for (const request of m1.upgrades) {
      const { host, connection, upgrade, ...rest } = request.headersDistinct
      assert.deepEqual([host, connection], [[new URL(m1.url).host], ['upgrade']])
      delete rest['content-length']
      assert.deepEqual(rest, {
        'x-stream-protocol-version': ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
        'sec-websocket-protocol': ['v5.channel.k8s.io'],
        'sec-websocket-extensions': ['permessage-deflate; client_max_window_bits'],
        'user-agent': ['kubectl/v1.36.3'],
        'impersonate-user': ['tester'],
      })
      assert.ok(upgrade)
    }
    await until(() => m1.sessions.size === 0)
    await running.request(P)
    const text = await metrics()
    assert.match(text, /fleetsearch_streams_total\{protocol="websocket",code="101"\} 1/)
    assert.match(text, /fleetsearch_streams_open\{protocol="spdy\/3.1"\} 0/)
    assert.match(text, /fleetsearch_streams_bytes_total\{direction="to_client"\} [1-9]/)
  })

  it('D6: have the plain answer of a member that does not agree, so that clients fall back', async () => {
    const body =
      '{"kind":"Status","status":"Failure","message":"unable to upgrade: websockets are not spoken","code":400}'
    const spdyOnly: SessionHandlers = {
      upgrade: (request, socket) => {
        if (request.headers.upgrade === 'websocket') refuse(400, body)(request, socket)
        else socket.end(`${AGREED}ok`)
      },
    }
    const { ask } = await start({ m1: spdyOnly })
    const websocket = await ask(P + EXEC, { protocol: 'websocket' })
    assert.deepEqual([websocket.status, websocket.body, websocket.headers.connection], [400, body, 'close'])
    const spdy = await ask(P + EXEC)
    assert.equal(spdy.status, 101)
    assert.equal(await readToEnd(spdy.socket!), 'ok')
    spdy.socket?.destroy()
  })

  it('D1: of a pod that two clusters have are refused, and reach neither until one is chosen', async () => {
    const log: SessionHandlers = {
      request: (request, response) => {
        if (!/\/log(\?|$)/.test(request.url ?? '')) return false
        response.end('a line\n')
        return true
      },
    }
    const { running, ask } = await start({ m1: log, m2: log })
    const reached = () => members.map(({ upgrades }) => upgrades.length)
    for (const protocol of ['SPDY/3.1', 'websocket']) {
      const answer = await ask(P + EXEC, { protocol })
      assert.equal(answer.status, 409)
      assert.match(answer.body, /"reason":"Conflict"/)
      assert.match(answer.body, /m1, m2/)
    }
    assert.deepEqual(reached(), [0, 0])
    assert.equal((await running.request(`${P}${POD}/log`)).status, 409)

    const chosen = await ask(`/apis/search.karmada.io/v1alpha1/proxying/cluster.m2/proxy${EXEC}`)
    assert.equal(chosen.status, 101)
    chosen.socket?.destroy()
    assert.deepEqual(reached(), [0, 1])
    const named = await ask(P + EXEC, { headers: { 'fleetsearch-cluster': 'm1' } })
    assert.equal(named.status, 101)
    named.socket?.destroy()
    assert.deepEqual(reached(), [1, 1])
    const line = await running.request(`/apis/search.karmada.io/v1alpha1/proxying/cluster.m1/proxy${POD}/log`)
    assert.deepEqual([line.status, line.text], [200, 'a line\n'])

    members[1]!.api.delete('Pod', 'default', 'web-0')
    const after = await ask(P + EXEC)
    assert.equal(after.status, 101)
    after.socket?.destroy()
    assert.deepEqual(reached(), [2, 1])
    assert.equal((await ask(`${P}/api/v1/namespaces/default/pods/nobody/exec`)).status, 404)
  })

  it('go within a second when either end goes, and leave nothing open', async () => {
    const { ask, metrics } = await start({ m1: {} })
    const [m1] = members as [SessionMember]
    const first = (await ask(P + EXEC)).socket!
    await until(() => m1.sessions.size === 1)
    first.resetAndDestroy()
    await until(() => m1.sessions.size === 0, 'upstream closed', 1_000)
    const second = (await ask(P + EXEC)).socket!
    const ended = over(second)
    for (const session of m1.sessions) session.resetAndDestroy()
    await Promise.race([ended, delay(1_000).then(() => assert.fail('still open'))])
    second.destroy()
    // Ended, not broken: by a member that does not end its own side.
    await until(() => m1.sessions.size === 0)
    const none = /fleetsearch_streams_open\{protocol="spdy\/3.1"\} 0/
    await eventually(async () => none.test(await metrics()), 'none is counted as open')
  })

  it('end when a client has ended and the member takes no notice', async () => {
    const deaf: SessionHandlers = { upgrade: (_request, socket) => void socket.resume().write(AGREED) }
    const { ask } = await start({ m1: deaf })
    const [m1] = members as [SessionMember]
    const { socket } = await ask(P + EXEC)
    await until(() => m1.sessions.size === 1)
    socket!.resume().end()
    await until(() => m1.sessions.size === 0 || [...m1.sessions].every((s) => s.readableEnded), 'the end', 1_000)
    await over(socket!)
    socket!.destroy()
  })

  it('are bounded in number', async () => {
    const { ask, metrics } = await start({ m1: {} }, { maxStreams: 2 })
    const open = await Promise.all([ask(P + EXEC), ask(P + EXEC)])
    const refused = await ask(P + EXEC, { protocol: 'websocket' })
    assert.equal(refused.status, 429)
    assert.equal(refused.headers['retry-after'], '1')
    assert.match(refused.body, /"reason":"TooManyRequests"/)
    assert.match(await metrics(), /fleetsearch_streams_refused_total\{bound="all"\} 1/)
    open[0].socket?.destroy()
    await eventually(async () => {
      const { status, socket } = await ask(P + EXEC)
      socket?.destroy()
      return status === 101
    }, 'a place')
    open[1].socket?.destroy()
  })

  it('are bounded in number for each user, so that nobody keeps the others out', async () => {
    const name = (request: IncomingMessage): string => String(request.headers['x-user'] ?? 'tester')
    const { ask, metrics } = await start(
      { m1: {} },
      {
        maxStreams: 5,
        maxStreamsPerUser: 2,
        authenticate: (request) => ({ name: name(request), uid: '', groups: [], extra: {} }),
      },
    )
    const as = (user: string) => ask(P + EXEC, { headers: { 'x-user': user } })
    const greedy = [await as('greedy'), await as('greedy')]
    const refused = await as('greedy')
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1'])
    assert.match(refused.body, /user \\"greedy\\" has too many streams open; the limit for one user is 2/)
    const others = [await as('one'), await as('two'), await as('three')]
    assert.deepEqual(
      others.map(({ status }) => status),
      [101, 101, 101],
    )
    assert.match((await as('four')).body, /too many streams are open; the limit is 5/)
    const text = await metrics()
    assert.match(text, /fleetsearch_streams_refused_total\{bound="user"\} 1/)
    assert.match(text, /fleetsearch_streams_refused_total\{bound="all"\} 1/)
    assert.match(text, /fleetsearch_streams_open_most_of_one_user 2/)
    for (const { socket } of [...greedy, ...others]) socket?.destroy()
    await eventually(async () => /fleetsearch_streams_open_most_of_one_user 0/.test(await metrics()), 'their end')
    const again = await as('greedy')
    assert.equal(again.status, 101)
    again.socket?.destroy()
  })

  it('end with the cluster that leaves, and no others do', async () => {
    const { running, ask } = await start({ m1: {}, m2: {} })
    const m1 = (await ask(`${P}/api/v1/namespaces/default/pods/own-m1/exec`)).socket!
    const m2 = (await ask(`${P}/api/v1/namespaces/default/pods/own-m2/exec`)).socket!
    const ended = over(m1)
    running.service.fleet.disengage('m1' as never, 'it left')
    await ended
    m1.destroy()
    m2.write('still here')
    assert.equal(String((await once(m2, 'data'))[0]), 'still here')
    m2.destroy()
  })

  it('D8: fail alone, and leave the watches of the same client be', async () => {
    const broken: SessionHandlers = {
      upgrade: refuse(500, '{"kind":"Status","message":"exec: \\"bash\\": not found"}'),
    }
    const { running, ask } = await start({ m1: broken })
    const watches = await Promise.all([1, 2, 3].map(() => openWatch(`${running.url}${P}/api/v1/pods?watch=true`)))
    const failed = await ask(P + EXEC)
    assert.equal(failed.status, 500)
    assert.match(failed.body, /not found/)
    const seen = watches.map((watch) => watch.text().length)
    members[0]!.api.update('Pod', 'default', 'web-0', (pod) => ({ ...pod, spec: { nodeName: 'n1' } }))
    await until(() => watches.every((watch, i) => watch.text().length > seen[i]!), 'events on every watch')
    for (const watch of watches) watch.close()
  })

  it('D8: bring each line of a log as it is written, unpacked, and end upstream when the client goes', async () => {
    let log: ServerResponse | undefined
    const asked: IncomingMessage[] = []
    const logs: SessionHandlers = {
      request: (request, response) => {
        if (!request.url?.includes('/log?follow=true')) return false
        asked.push(request)
        log = response
        response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders()
        return true
      },
    }
    const { running } = await start({ m1: logs })
    const url = `${running.url}${P}${POD}/log?follow=true&tailLines=1`
    const reader = await openWatch(url, { 'accept-encoding': 'gzip' })
    assert.equal(reader.headers['content-encoding'], undefined)
    for (let n = 1; n <= 3; n++) {
      log!.write(`line ${n}\n`)
      await until(() => reader.text().endsWith(`line ${n}\n`), `line ${n}`, 1_000)
    }
    assert.equal(asked[0]?.url, `${POD}/log?follow=true&tailLines=1`)
    const gone = once(log!, 'close')
    reader.close()
    await gone
  })

  it('reach applications behind proxy subresources, upgrades and all', async () => {
    const application: SessionHandlers = {
      request: (request, response) => {
        if (!request.url?.includes('/proxy/')) return false
        response.writeHead(418, { 'x-app': 'yes', location: '/api/v1/namespaces/default/pods/web-0/proxy/next' })
        request.pipe(response)
        return true
      },
    }
    const { running, ask } = await start({ m1: application })
    const name = `${P}${POD}/proxy`
    const answer = await running.request(`${name}/a%2Fb//c?x=1&x=2`, { method: 'PUT', body: 'some bytes' })
    assert.deepEqual([answer.status, answer.text, answer.headers['x-app']], [418, 'some bytes', 'yes'])
    assert.equal(answer.headers['location'], `${name}/next`)
    const ported = await running.request(`${P}${POD.replace('web-0', 'http:web-0:8080')}/proxy/`, { method: 'POST' })
    assert.equal(ported.status, 418, 'a scheme and a port are no part of the name')
    const upgraded = await ask(`${name}/socket?x=%20`, { protocol: 'websocket', headers: { cookie: 'app=1' } })
    assert.equal(upgraded.status, 101)
    upgraded.socket?.destroy()
    const [request] = members[0]!.upgrades
    assert.equal(request?.url, `${POD}/proxy/socket?x=%20`)
    assert.equal(request.headers.cookie, 'app=1')
  })
})

/** The server has ended or broken it. */
function over(socket: Socket): Promise<unknown> {
  socket.resume()
  return new Promise((resolve) => socket.once('end', resolve).once('close', resolve))
}

interface Reader {
  readonly headers: IncomingMessage['headers']
  text(): string
  close(): void
}

async function openWatch(url: string, headers: Record<string, string> = {}): Promise<Reader> {
  const request = send(url, { agent: false, headers }).end()
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  answer.on('error', () => undefined)
  request.on('error', () => undefined)
  return { headers: answer.headers, text: () => text, close: () => request.destroy() }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { noCredentials, type Credentials } from '../../src/fleet/credentials.ts'
import { createMemberClient, unreachableClient } from '../../src/fleet/member-client.ts'
import { isMemberError } from '../../src/fleet/member-error.ts'
import type { MemberClient } from '../../src/fleet/member.ts'
import { systemClock } from '../../src/util/clock.ts'
import { FakeClock, settle, until } from '../support/fake-clock.ts'
import { serveHttp, type TestServer } from './test-server.ts'

const signal = AbortSignal.any([])

function clientOf(server: Pick<TestServer, 'url'>, more: object = {}): MemberClient & AsyncDisposable {
  const client = createMemberClient({ server: server.url, credentials: noCredentials, clock: systemClock, ...more })
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

const get = (client: MemberClient, path: string, more: object = {}) =>
  client.request({ method: 'GET', path, signal, ...more })

test('sends path and query byte for byte below the prefix of the server', async () => {
  const seen: (string | undefined)[] = []
  await using server = await serveHttp((request, response) => {
    seen.push(request.url, request.headers['user-agent'], request.headers.accept)
    response.end('{}')
  })
  await using client = clientOf({ url: `${server.url}/k8s/clusters/c-1/` })
  const response = await get(client, '/api/v1/pods?labelSelector=a%3Db,c&limit=1')
  assert.equal(response.status, 200)
  assert.equal((await response.bytes()).toString(), '{}')
  assert.deepEqual(seen, [
    '/k8s/clusters/c-1/api/v1/pods?labelSelector=a%3Db,c&limit=1',
    'fleetsearch',
    'application/json',
  ])
})

test('asks for gzip and hands out the plain body without the headers that described the packed one', async () => {
  const text = 'x'.repeat(200_000)
  await using server = await serveHttp((request, response) => {
    assert.equal(request.headers['accept-encoding'], 'gzip')
    const packed = gzipSync(text)
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length }).end(packed)
  })
  await using client = clientOf(server)
  const response = await get(client, '/')
  assert.equal(response.headers['content-encoding'], undefined)
  assert.equal(response.headers['content-length'], undefined)
  assert.equal((await response.bytes()).toString(), text)
})

test('a body above the limit is tooLarge', async () => {
  await using server = await serveHttp((_request, response) => response.end('x'.repeat(100_000)))
  await using client = clientOf(server)
  const response = await get(client, '/')
  await assert.rejects(response.bytes(99_999), (error) => isMemberError(error, 'tooLarge'))
})

test('leaving the body early frees its connection, reading to the end keeps it', async () => {
  await using server = await serveHttp((request, response) => {
    if (request.url === '/endless') response.write('first')
    else response.end('all')
  })
  await using client = clientOf(server)
  const endless = await get(client, '/endless')
  for await (const chunk of endless.body) {
    assert.equal(Buffer.from(chunk).toString(), 'first')
    break
  }
  for (let i = 0; i < 9; i++) assert.equal((await (await get(client, '/all')).bytes()).toString(), 'all')
  assert.ok(server.connections <= 3, `${server.connections} connections`)
})

test('an aborted request rejects with the reason of its signal, before the head and in the body', async () => {
  await using server = await serveHttp((request, response) => {
    if (request.url === '/slow-body') response.write('first')
  })
  await using client = clientOf(server)
  const leaving = new Error('cluster left')
  const head = new AbortController()
  const pending = get(client, '/no-head', { signal: head.signal })
  await settle()
  head.abort(leaving)
  await assert.rejects(pending, leaving)

  const body = new AbortController()
  const response = await get(client, '/slow-body', { signal: body.signal })
  const read = response.bytes()
  await settle()
  body.abort(leaving)
  await assert.rejects(read, leaving)
  await assert.rejects(get(client, '/never', { signal: body.signal }), leaving)
})

test('a read on a pooled connection that the server closed meanwhile is sent again', async () => {
  let requests = 0
  await using server = await serveHttp((request, response) => {
    requests += 1
    if (requests === 2) request.socket.destroy()
    else response.end('ok')
  })
  await using client = clientOf(server)
  await (await get(client, '/')).bytes()
  assert.equal((await (await get(client, '/')).bytes()).toString(), 'ok')
  assert.equal(requests, 3)
})

test('a write is never sent twice', async () => {
  let requests = 0
  await using server = await serveHttp((request) => {
    requests += 1
    request.socket.destroy()
  })
  await using client = clientOf(server)
  const posted = client.request({ method: 'POST', path: '/', body: '{}', signal })
  await assert.rejects(posted, (error) => isMemberError(error, 'closed'))
  assert.equal(requests, 1)
})

test('a 401 is tried again once, and only with other credentials', async () => {
  const tokens: (string | undefined)[] = []
  await using server = await serveHttp((request, response) => {
    tokens.push(request.headers.authorization)
    response.writeHead(request.headers.authorization === 'Bearer new' ? 200 : 401).end()
  })
  let token = 'old'
  let renewable = false
  const credentials = {
    current: (): Promise<Credentials> => Promise.resolve({ headers: { authorization: `Bearer ${token}` }, tls: {} }),
    rejected: () => void (renewable && (token = 'new')),
  }
  await using client = clientOf(server, { credentials })
  assert.equal((await get(client, '/')).status, 401)
  assert.deepEqual(tokens, ['Bearer old'])
  renewable = true
  assert.equal((await get(client, '/')).status, 200)
  assert.deepEqual(tokens, ['Bearer old', 'Bearer old', 'Bearer new'])
})

test('requests beyond the burst wait for their turn, in order, and an abort gives the turn back', async () => {
  await using server = await serveHttp((_request, response) => response.end())
  const clock = new FakeClock()
  await using client = clientOf(server, { clock, qps: 10, burst: 2 })
  const done: number[] = []
  const ask = async (n: number): Promise<void> => {
    await (await get(client, '/')).bytes()
    done.push(n)
  }
  const aborted = new AbortController()
  const first = [ask(1), ask(2)]
  const third = get(client, '/', { signal: aborted.signal })
  const fourth = ask(4)
  await Promise.all(first)
  aborted.abort(new Error('gone'))
  await assert.rejects(third, { message: 'gone' })
  assert.deepEqual(done, [1, 2])
  await clock.advance(200)
  await fourth
  const fifth = ask(5)
  await clock.advance(100)
  await fifth
  assert.deepEqual(done, [1, 2, 4, 5])
})

test('tells its listeners when the member answers again after an outage', async () => {
  let healthy = false
  await using server = await serveHttp((_request, response) => response.writeHead(healthy ? 200 : 503).end())
  const clock = new FakeClock()
  await using client = clientOf(server, { clock })
  let recovered = 0
  const stop = client.onRecovery?.(() => void recovered++)
  const ask = async (): Promise<void> => void (await (await get(client, '/')).bytes())
  await ask()
  healthy = true
  await ask()
  assert.equal(recovered, 0, 'one failure is no outage')
  healthy = false
  await ask()
  await clock.advance(5_000)
  await ask()
  healthy = true
  await ask()
  await ask()
  assert.equal(recovered, 1)
  stop?.()
})

test('closing breaks requests under way', async () => {
  let asked = false
  await using server = await serveHttp(() => void (asked = true))
  await using client = clientOf(server)
  const pending = get(client, '/')
  const rejected = assert.rejects(pending, (error) => isMemberError(error, 'closed'))
  await until(() => asked)
  await client.close()
  await rejected
})

test('a member that nothing says how to reach fails without any network', async () => {
  const client = unreachableClient('cluster has no apiEndpoint')
  await assert.rejects(get(client, '/'), (error) => isMemberError(error, 'unreachable'))
  for (const server of ['', 'host:6443', 'ftp://host', 'https://']) {
    assert.throws(
      () => clientOf({ url: server }),
      (error) => isMemberError(error, 'unreachable'),
      server,
    )
  }
})

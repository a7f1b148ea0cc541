import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { ReplaceableCredentials, type TlsMaterial } from '../../src/fleet/credentials.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import { MemberError, type MemberErrorCode } from '../../src/fleet/member-error.ts'
import type { MemberClient } from '../../src/fleet/member.ts'
import { systemClock, type Clock } from '../../src/util/clock.ts'
import { createAuthority } from '../support/certificates.ts'
import { FakeClock, until } from '../support/fake-clock.ts'
import { freePorts } from '../support/free-port.ts'
import { serveHttp, serveHttps, serveRelay, serveTcp } from './test-server.ts'

const signal = AbortSignal.any([])
const authority = await createAuthority('member-ca')
const stranger = await createAuthority('other-ca')
const loopback = { commonName: 'kube-apiserver', dnsNames: ['localhost'], ips: ['127.0.0.1'] }
const DAY_MS = 86_400_000

function clientOf(server: string, tls: TlsMaterial = {}, clock: Clock = systemClock): MemberClient & AsyncDisposable {
  const client = createMemberClient({ server, credentials: new ReplaceableCredentials({ headers: {}, tls }), clock })
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

const get = (client: MemberClient, more: object = {}) =>
  client.request({ method: 'GET', path: '/api/v1/pods', signal, ...more })

async function fails(pending: Promise<unknown>, code: MemberErrorCode, message: RegExp): Promise<void> {
  await assert.rejects(pending, (error) => {
    assert.ok(error instanceof MemberError, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, message)
    return true
  })
}

test('a server whose certificate comes from another CA', async () => {
  const { certPem, keyPem } = await stranger.issue(loopback)
  await using server = await serveHttps({ cert: certPem, key: keyPem }, (_request, response) => response.end('{}'))
  await using client = clientOf(server.url, { ca: authority.certPem })
  await fails(get(client), 'tls', /not signed by the configured CA/)
  await using trusting = clientOf(server.url, { ca: authority.certPem, insecureSkipVerify: true })
  assert.equal((await get(trusting)).status, 200)
})

test('a server whose certificate has expired', async () => {
  const now = Date.now()
  const dates = { notBefore: new Date(now - 2 * DAY_MS), notAfter: new Date(now - DAY_MS) }
  const { certPem, keyPem } = await authority.issue({ ...loopback, ...dates })
  await using server = await serveHttps({ cert: certPem, key: keyPem }, (_request, response) => response.end('{}'))
  await using client = clientOf(server.url, { ca: authority.certPem })
  await fails(get(client), 'tls', /has expired/)
})

test('a server with a certificate for another name, and the name to check instead', async () => {
  const { certPem, keyPem } = await authority.issue({ commonName: 'x', dnsNames: ['api.member1.example'] })
  await using server = await serveHttps({ cert: certPem, key: keyPem }, (_request, response) => response.end('{}'))
  await using client = clientOf(server.url, { ca: authority.certPem })
  await fails(get(client), 'tls', /for another name/)
  await using named = clientOf(server.url, { ca: authority.certPem, serverName: 'api.member1.example' })
  assert.equal((await get(named)).status, 200)
})

test('a client certificate is shown, and one of another CA is refused', async () => {
  const { certPem, keyPem } = await authority.issue(loopback)
  const options = { cert: certPem, key: keyPem, ca: authority.certPem, requestCert: true, rejectUnauthorized: true }
  await using server = await serveHttps(options, (request, response) =>
    response.end((request.socket as TLSSocket).getPeerCertificate().subject.CN),
  )
  const ours = await authority.issue({ commonName: 'fleetsearch' })
  await using client = clientOf(server.url, { ca: authority.certPem, cert: ours.certPem, key: ours.keyPem })
  assert.equal((await (await get(client)).bytes()).toString(), 'fleetsearch')
  const theirs = await stranger.issue({ commonName: 'fleetsearch' })
  await using refused = clientOf(server.url, { ca: authority.certPem, cert: theirs.certPem, key: theirs.keyPem })
  await assert.rejects(get(refused), MemberError)
})

test('certificates that cannot be read', async () => {
  await using server = await serveHttp((_request, response) => response.end('{}'))
  const secret = 'c2VjcmV0LXNlY3JldC1zZWNyZXQ='
  await using client = clientOf(server.url.replace('http:', 'https:'), {
    ca: authority.certPem,
    cert: secret,
    key: secret,
  })
  await fails(get(client), 'tls', /not PEM/)
  await get(client).catch((error: Error) => assert.doesNotMatch(error.message, /c2Vj/))
})

test('a server that speaks no TLS, one that speaks no HTTP, and nobody at all', async () => {
  await using plain = await serveHttp((_request, response) => response.end('{}'))
  await using toPlain = clientOf(plain.url.replace('http:', 'https:'))
  await fails(get(toPlain), 'tls', /does not speak TLS/)

  await using mute = await serveTcp((socket) => socket.end('220 smtp.example ESMTP\r\n'))
  await using toMute = clientOf(mute.url.replace('tcp:', 'http:'))
  await fails(get(toMute), 'protocol', /not HTTP/)

  const [port] = await freePorts(1)
  await using toNobody = clientOf(`http://127.0.0.1:${port}`)
  await fails(get(toNobody), 'refused', /127\.0\.0\.1.*ECONNREFUSED/)

  await using toNowhere = clientOf('http://no-such-host.invalid')
  await fails(get(toNowhere), 'dns', /does not resolve/)
})

test('a server that breaks off: before the head, in the body, in the gzip stream', async () => {
  await using server = await serveHttp((request, response) => {
    if (request.url === '/head') request.socket.destroy()
    else if (request.url === '/body') response.write('{"items":[', () => request.socket.destroy())
    else {
      const packed = gzipSync('{"items":[]}'.repeat(10_000))
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed.subarray(0, packed.length >> 1))
    }
  })
  await using client = clientOf(server.url)
  const at = (path: string) => client.request({ method: 'GET', path, signal })
  await fails(at('/head'), 'closed', /connection broke/)
  await fails((await at('/body')).bytes(), 'closed', /connection broke/)
  await fails((await at('/gzip')).bytes(), 'protocol', /damaged or cut off/)
})

test('G2: a connection that went half-open is noticed by its silence, before the head and in the body', async () => {
  await using server = await serveHttp((_request, response) => {
    response.writeHead(200)
    response.write('{"type":"ADDED"}\n')
  })
  await using relay = await serveRelay(server.port)
  const clock = new FakeClock()
  await using client = clientOf(relay.url, {}, clock)
  const watch = await get(client, { idleMs: 90_000 })
  const chunks = watch.body[Symbol.asyncIterator]()
  assert.equal((await chunks.next()).done, false)

  relay.silent = true
  const silence = fails(chunks.next(), 'timeout', /no byte for 90000 ms/)
  await clock.advance(89_999)
  const unanswered = fails(get(client, { headersTimeoutMs: 5_000 }), 'timeout', /no answer within 5000 ms/)
  await clock.advance(1)
  await silence
  await clock.advance(5_000)
  await unanswered
  assert.equal(clock.pending, 0)

  relay.silent = false
  assert.equal((await get(client)).status, 200)
})

test('a reader that takes its time is not taken for a silent member', async () => {
  await using server = await serveHttp((_request, response) => {
    for (let i = 0; i < 64; i++) response.write('x'.repeat(65_536))
    response.end()
  })
  const clock = new FakeClock()
  await using client = clientOf(server.url, {}, clock)
  let read = 0
  for await (const chunk of (await get(client, { idleMs: 1_000 })).body) {
    read += chunk.length
    clock.tick(10_000)
  }
  assert.equal(read, 64 * 65_536)
})

test('new certificates apply to new connections and leave a running watch alone', async () => {
  const { certPem, keyPem } = await authority.issue(loopback)
  const options = { cert: certPem, key: keyPem, ca: authority.certPem, requestCert: true, rejectUnauthorized: true }
  await using server = await serveHttps(options, (request, response) => {
    response.write((request.socket as TLSSocket).getPeerCertificate().subject.CN)
    if (request.url !== '/watch') response.end()
    else request.socket.once('finish-watch', () => response.end(' and on'))
    if (request.url === '/finish') sockets.forEach((socket) => socket.emit('finish-watch'))
    sockets.push(request.socket as TLSSocket)
  })
  const sockets: TLSSocket[] = []
  const material = async (commonName: string): Promise<TlsMaterial> => {
    const pair = await authority.issue({ commonName })
    return { ca: authority.certPem, cert: pair.certPem, key: pair.keyPem }
  }
  const credentials = new ReplaceableCredentials({ headers: {}, tls: await material('old') })
  const client = createMemberClient({ server: server.url, credentials, clock: systemClock })
  const at = (path: string) => client.request({ method: 'GET', path, signal })
  const watch = (await at('/watch')).bytes()
  await until(() => sockets.length === 1)

  let told = 0
  const stop = client.onRecovery?.(() => void told++)
  credentials.replace({ headers: {}, tls: await material('new') })
  assert.equal(told, 1)
  assert.equal((await (await at('/finish')).bytes()).toString(), 'new')
  assert.equal((await watch).toString(), 'old and on')
  stop?.()
  await client.close()
})

test('an abandoned answer is no unhandled error', async () => {
  await using server = await serveHttp((request, response) => {
    response.write('half', () => request.socket.destroy())
  })
  await using client = clientOf(server.url)
  const closed = once(process, 'nothing', { signal: AbortSignal.timeout(50) }).catch(() => undefined)
  assert.equal((await get(client)).status, 200)
  await closed
})

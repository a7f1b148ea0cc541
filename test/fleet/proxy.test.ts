import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { ReplaceableCredentials, type TlsMaterial } from '../../src/fleet/credentials.ts'
import type { ProxySettings } from '../../src/fleet/connections.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import { MemberError } from '../../src/fleet/member-error.ts'
import type { MemberClient } from '../../src/fleet/member.ts'
import { systemClock } from '../../src/util/clock.ts'
import { createAuthority } from '../support/certificates.ts'
import { freePorts } from '../support/free-port.ts'
import { serveHttp, serveHttps, serveProxy, serveTcp, type ProxyLog } from './test-server.ts'

const signal = AbortSignal.any([])
const authority = await createAuthority('member-ca')
const pair = await authority.issue({ commonName: 'api', dnsNames: ['localhost'], ips: ['127.0.0.1'] })
const trust: TlsMaterial = { ca: authority.certPem }

function clientOf(server: string, proxy: ProxySettings, tls: TlsMaterial = {}): MemberClient & AsyncDisposable {
  const credentials = new ReplaceableCredentials({ headers: {}, tls })
  const client = createMemberClient({ server, proxy, credentials, clock: systemClock })
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

const body = async (client: MemberClient) =>
  (await (await client.request({ method: 'GET', path: '/version', signal })).bytes()).toString()

const member = () =>
  serveHttps({ cert: pair.certPem, key: pair.keyPem }, (_request, response) => response.end('member'))

test('a member behind an HTTP proxy is reached by CONNECT, with the headers of the cluster', async () => {
  const log: ProxyLog[] = []
  await using server = await member()
  await using proxy = await serveProxy(log)
  const url = proxy.url.replace('http://', 'http://us%40er:pass%3Aword@')
  await using client = clientOf(server.url, { url, headers: { 'X-Tunnel': ['a', 'b'], 'X-One': 'c' } }, trust)
  assert.equal(await body(client), 'member')
  assert.equal(log.length, 1)
  assert.equal(log[0]?.target, `127.0.0.1:${server.port}`)
  assert.equal(log[0]?.headers['x-tunnel'], 'a, b')
  assert.equal(log[0]?.headers['x-one'], 'c')
  const basic = Buffer.from('us@er:pass:word').toString('base64')
  assert.equal(log[0]?.headers['proxy-authorization'], `Basic ${basic}`)
})

test('the certificate of the member is checked through the tunnel', async () => {
  const stranger = await createAuthority('other-ca')
  await using server = await member()
  await using proxy = await serveProxy([])
  await using client = clientOf(server.url, { url: proxy.url }, { ca: stranger.certPem })
  await assert.rejects(body(client), { name: 'MemberError', code: 'tls' })
})

test('a proxy that refuses, and one that is not there; its password is not shown', async () => {
  await using server = await member()
  await using proxy = await serveProxy([], 407)
  const secret = proxy.url.replace('http://', 'http://user:hunter2@')
  await using refused = clientOf(server.url, { url: secret }, trust)
  await assert.rejects(body(refused), (error) => {
    assert.ok(error instanceof MemberError)
    assert.equal(error.code, 'proxy')
    assert.match(error.message, /through http:\/\/127\.0\.0\.1/)
    assert.doesNotMatch(error.message, /hunter2/)
    return true
  })
  const [port] = await freePorts(1)
  await using absent = clientOf(server.url, { url: `http://127.0.0.1:${port}` }, trust)
  await assert.rejects(body(absent), { code: 'refused' })
  assert.throws(() => clientOf(server.url, { url: 'ftp://proxy' }), { code: 'unreachable' })
})

test('a member without TLS is asked through the proxy, not through a tunnel', async () => {
  await using proxy = await serveHttp((request, response) => response.end(`proxied ${request.url}`))
  await using client = clientOf('http://member.example:8080', { url: proxy.url })
  assert.equal(await body(client), 'proxied http://member.example:8080/version')
})

test('a member behind a SOCKS5 proxy', async () => {
  await using server = await member()
  const asked: number[] = []
  // Just enough of RFC 1928: no authentication, CONNECT to an IPv4 address.
  await using socks = await serveTcp((client) => {
    client.once('data', () => {
      client.write(Buffer.from([5, 0]))
      client.once('data', (request: Buffer) => {
        const port = request.readUInt16BE(request.length - 2)
        asked.push(port)
        const upstream = connect(port, '127.0.0.1', () => {
          client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
          client.pipe(upstream).pipe(client)
        })
        upstream.on('error', () => client.destroy())
        client.on('close', () => upstream.destroy())
      })
    })
  })
  await using client = clientOf(server.url, { url: socks.url.replace('tcp:', 'socks5:') }, trust)
  assert.equal(await body(client), 'member')
  assert.deepEqual(asked, [server.port])

  await using mute = await serveTcp((socket) => socket.end())
  await using refused = clientOf(server.url, { url: `socks5://user:hunter2@127.0.0.1:${mute.port}` }, trust)
  await assert.rejects(body(refused), (error) => {
    assert.ok(error instanceof MemberError)
    assert.equal(error.code, 'proxy')
    assert.doesNotMatch(inspect(error, { depth: 10 }), /hunter2/)
    return true
  })
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { gzipSync } from 'node:zlib'
import type { CredentialSource, TlsMaterial } from '../../src/fleet/credentials.ts'
import type { ProxySettings } from '../../src/fleet/connections.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import type { MemberClient, MemberUpgrade, SwitchedProtocols } from '../../src/fleet/member.ts'
import { systemClock } from '../../src/util/clock.ts'
import { createAuthority } from '../support/certificates.ts'
import { FakeClock, until } from '../support/fake-clock.ts'
import { readToEnd } from '../support/upgrade-client.ts'
import { serveProxy, serveTcp, type ProxyLog } from './test-server.ts'

const authority = await createAuthority('member-ca')
const pair = await authority.issue({ commonName: 'api', dnsNames: ['member.example'], ips: ['127.0.0.1'] })
const trust: TlsMaterial = { ca: authority.certPem }

type OnUpgrade = (request: IncomingMessage, socket: Socket) => void

const EXEC: MemberUpgrade = {
  method: 'POST',
  path: '/api/v1/namespaces/a/pods/p/exec?command=sh&command=-c',
  protocol: 'SPDY/3.1',
  headers: { 'X-Stream-Protocol-Version': ['v4.channel.k8s.io', 'v3.channel.k8s.io'], 'impersonate-group': ['a', 'b'] },
  signal: AbortSignal.any([]),
}

const echo: OnUpgrade = (_request, socket) => {
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-A: 1\r\nX-A: 2\r\n\r\nhello ',
  )
  socket.on('data', (chunk) => socket.write(chunk))
  socket.on('end', () => socket.end(' bye'))
}

function refuse(head: string, body: string | Buffer = ''): OnUpgrade {
  return (_request, socket) => {
    socket.write(`HTTP/1.1 ${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`)
    socket.end(body)
  }
}

describe('upgrades to a member', () => {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  async function member(onUpgrade: OnUpgrade, { tls = true } = {}) {
    const server: Server = tls
      ? createTlsServer({ cert: pair.certPem, key: pair.keyPem, allowHalfOpen: true })
      : createServer()
    const sockets = new Set<Socket>()
    const requests: IncomingMessage[] = []
    server.on('connection', (socket: Socket) => sockets.add(socket.once('close', () => sockets.delete(socket))))
    server.on('upgrade', (request, socket: Socket) => {
      requests.push(request)
      socket.on('error', () => undefined)
      onUpgrade(request, socket)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    closing.push(async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    })
    const { port } = server.address() as AddressInfo
    return { url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`, port, requests, sockets }
  }

  interface ClientOptions {
    readonly tls?: TlsMaterial
    readonly proxy?: ProxySettings
    readonly clock?: FakeClock
    readonly credentials?: CredentialSource
  }

  function clientOf(server: string, { tls = trust, proxy, clock, credentials }: ClientOptions = {}): MemberClient {
    const client = createMemberClient({
      server,
      credentials: credentials ?? { current: () => Promise.resolve({ headers: { authorization: 'Bearer x' }, tls }) },
      clock: clock ?? systemClock,
      ...(proxy === undefined ? {} : { proxy }),
    })
    closing.push(() => client.close())
    return client
  }

  async function agreed(client: MemberClient, request = EXEC): Promise<SwitchedProtocols> {
    const answer = await client.upgrade!(request)
    assert.ok('socket' in answer, `it answered ${answer.status}`)
    closing.push(async () => void answer.socket.destroy())
    return answer
  }

  async function talk({ socket }: SwitchedProtocols): Promise<string> {
    socket.allowHalfOpen = true
    const heard = readToEnd(socket)
    socket.end('words')
    return heard
  }

  it('give the bare connection, with the request and the answer as they were made', async () => {
    const { url, requests } = await member(echo)
    const answer = await agreed(clientOf(`${url}/base`))
    assert.equal(await talk(answer), 'hello words bye')
    assert.deepEqual(answer.headerLines.slice(-4), ['X-A', '1', 'X-A', '2'])
    const [request] = requests
    assert.equal(request?.url, `/base${EXEC.path}`)
    const lines = Object.entries(request.headersDistinct)
    assert.deepEqual(
      lines.toSorted(([a], [b]) => (a < b ? -1 : 1)),
      [
        ['authorization', ['Bearer x']],
        ['connection', ['upgrade']],
        ['content-length', ['0']],
        ['host', [new URL(url).host]],
        ['impersonate-group', ['a', 'b']],
        ['upgrade', ['SPDY/3.1']],
        ['x-stream-protocol-version', ['v4.channel.k8s.io', 'v3.channel.k8s.io']],
      ],
    )
  })

  it('check certificates as every request does, and show the name that is asked for', async () => {
    const names: unknown[] = []
    const { url } = await member((request, socket) => {
      names.push((socket as TLSSocket & { servername?: unknown }).servername)
      echo(request, socket)
    })
    const stranger = await createAuthority('other')
    await assert.rejects(clientOf(url, { tls: { ca: stranger.certPem } }).upgrade!(EXEC), { code: 'tls' })
    const unchecked = clientOf(url, { tls: { ca: stranger.certPem, insecureSkipVerify: true } })
    assert.equal(await talk(await agreed(unchecked)), 'hello words bye')
    const named = clientOf(url, { tls: { ...trust, serverName: 'member.example' } })
    assert.equal(await talk(await agreed(named)), 'hello words bye')
    assert.equal(names.at(-1), 'member.example')
  })

  it('D6: go through an HTTP CONNECT proxy with the headers of the cluster', async () => {
    const log: ProxyLog[] = []
    const proxy = await serveProxy(log)
    closing.push(async () => proxy[Symbol.asyncDispose]())
    const { url, port, requests } = await member(echo)
    const client = clientOf(url, { proxy: { url: proxy.url, headers: { 'X-Tunnel': ['a', 'b'] } } })
    assert.equal(await talk(await agreed(client)), 'hello words bye')
    assert.equal(log[0]?.target, `127.0.0.1:${port}`)
    assert.equal(log[0]?.headers['x-tunnel'], 'a, b')
    assert.deepEqual(requests[0]?.headersDistinct['impersonate-group'], ['a', 'b'])
    assert.equal(requests[0]?.headers['x-tunnel'], undefined)

    const refusing = await serveProxy([], 407)
    closing.push(async () => refusing[Symbol.asyncDispose]())
    await assert.rejects(clientOf(url, { proxy: { url: refusing.url } }).upgrade!(EXEC), { code: 'proxy' })
  })

  it('go through a SOCKS proxy', async () => {
    const { url } = await member(echo)
    // Just enough of RFC 1928: no authentication, CONNECT to an IPv4 address.
    const socks = await serveTcp((client) => {
      client.once('data', () => {
        client.write(Buffer.from([5, 0]))
        client.once('data', (request: Buffer) => {
          const upstream = connect(request.readUInt16BE(request.length - 2), '127.0.0.1', () => {
            client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
            client.pipe(upstream).pipe(client)
          })
          upstream.on('error', () => client.destroy())
          client.on('close', () => upstream.destroy())
        })
      })
    })
    closing.push(async () => socks[Symbol.asyncDispose]())
    const { socket } = await agreed(clientOf(url, { proxy: { url: socks.url.replace('tcp:', 'socks5:') } }))
    let heard = ''
    socket.on('data', (chunk) => (heard += String(chunk)))
    socket.write('words')
    await until(() => heard === 'hello words')
  })

  it('that the member does not want have its plain answer', async () => {
    const body = '{"kind":"Status","message":"websockets are not spoken here"}'
    const client = clientOf((await member(refuse('400 Bad Request', body))).url)
    const answer = await client.upgrade!(EXEC)
    assert.ok(!('socket' in answer))
    assert.equal(answer.status, 400)
    assert.equal((await answer.bytes()).toString(), body)
    const zipped = clientOf((await member(refuse('403 No\r\nContent-Encoding: gzip', gzipSync(body)))).url)
    const untouched = await zipped.upgrade!(EXEC)
    assert.ok(!('socket' in untouched))
    assert.equal(untouched.headers['content-encoding'], 'gzip')
    assert.deepEqual(await untouched.bytes(), gzipSync(body))
  })

  it('that are refused at length wait for whoever reads, and stop where nobody does', async () => {
    const chunk = Buffer.alloc(1 << 20)
    const { url, sockets } = await member((_request, socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${chunk.length * 64}\r\n\r\n`)
      for (let i = 0; i < 64; i++) socket.write(chunk)
    })
    const answer = await clientOf(url).upgrade!(EXEC)
    assert.ok(!('socket' in answer))
    let read = 0
    for await (const piece of answer.body) {
      read += piece.length
      if (read > chunk.length) break
    }
    await until(() => sockets.size === 0, 'the connection is given up')
  })

  it('end when nothing answers in time, and when nobody waits any more', async () => {
    const clock = new FakeClock()
    const { url, requests, sockets } = await member((_request, socket) =>
      socket.resume().on('end', () => socket.destroy()),
    )
    const client = clientOf(url, { clock })
    const late = client.upgrade!(EXEC)
    late.catch(() => undefined)
    await until(() => requests.length === 1)
    await clock.advance(29_999)
    assert.equal(sockets.size, 1)
    await clock.advance(1)
    await assert.rejects(late, { code: 'timeout' })
    await until(() => sockets.size === 0)

    const gone = new AbortController()
    const given = client.upgrade!({ ...EXEC, signal: gone.signal })
    await until(() => requests.length === 2)
    const reason = new Error('the client went')
    gone.abort(reason)
    await assert.rejects(given, reason)
    await until(() => sockets.size === 0)
    assert.equal(clock.pending, 0)
  })

  it('are asked for once more with fresh credentials, and never twice otherwise', async () => {
    const used: unknown[] = []
    const { url } = await member((request, socket) => {
      used.push(request.headers.authorization)
      if (used.length === 1) refuse('401 Unauthorized')(request, socket)
      else if (used.length === 2) echo(request, socket)
      else socket.destroy()
    })
    let token = 'old'
    const credentials: CredentialSource = {
      current: () => Promise.resolve({ headers: { authorization: token }, tls: trust }),
      rejected: () => (token = 'new'),
    }
    const client = clientOf(url, { credentials })
    assert.equal(await talk(await agreed(client)), 'hello words bye')
    await assert.rejects(client.upgrade!({ ...EXEC, method: 'GET' }), { code: 'closed' })
    assert.deepEqual(used, ['old', 'new', 'new'])
  })

  it('outlive the pool of their connection, and are no part of it', async () => {
    const { url, sockets } = await member(echo)
    const client = clientOf(url)
    const first = await agreed(client)
    const second = await agreed(client)
    assert.equal(sockets.size, 2)
    await client.close()
    assert.equal(await talk(first), 'hello words bye')
    assert.equal(await talk(second), 'hello words bye')
  })
})

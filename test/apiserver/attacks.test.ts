/**
 * The whole service over real TLS under attack: whatever comes, it ends in the right status or a closed connection, nothing
 * is served that was not judged, everybody else is served meanwhile, and the memory is what it was.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  connect as connectHttp2,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from 'node:http2'
import { connect as connectTcp, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'node:tls'
import { firstOf } from '../../src/apiserver/authn/authenticator.ts'
import { bearerTokenAuthenticator } from '../../src/apiserver/authn/bearer-token.ts'
import { startFakeMember, type FakeMember } from '../support/fake-member.ts'
import { BASE, CACHE, PROXY, QUERY } from '../support/local-process.ts'
import { podManifest } from '../support/manifests.ts'
import { connectRaw, END_HEADERS, END_STREAM, frame, FRAME, get, headerBlock } from '../support/raw-http2.ts'
import { trustedTls } from '../support/test-tls.ts'
import { eventually, startWholeService, type WholeService } from '../support/whole-service.ts'

const REGISTRIES = `${BASE}/resourceregistries`
const PODS = `${CACHE}/api/v1/pods`
const AUTHORIZED = 'Authorization: Bearer good\r\n'
const GOOD = { authorization: 'Bearer good' }
/** Headers, requests, idle connections, and how often that is looked at. */
const PATIENCE = { headersMs: 700, requestMs: 1_500, idleMs: 1_000, checkMs: 100 }
/** How much more the process may hold after an attack than before; its garbage is not collected at once. */
const FLAT_BYTES = 96 << 20

/** However it came about. */
function closing(stream: Socket | ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve()
    else stream.once('close', () => resolve())
  })
}

interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

describe('attacks', () => {
  let member: FakeMember
  let api: WholeService
  let port = 0
  /** The headers of each request that came as far as authentication. */
  const identified: (readonly string[])[] = []

  before(async () => {
    const objects = ['web-0', 'web-1'].map((name) => podManifest(name) as Parameters<FakeMember['put']>[0])
    member = await startFakeMember({ objects })
    const tokens = bearerTokenAuthenticator({
      post: (review) => {
        const good = (review as { spec: { token: string } }).spec.token === 'good'
        return Promise.resolve({ status: { authenticated: good, user: { username: 'tester' } } })
      },
      ttlMs: 10_000,
      monotonicMs: () => performance.now(),
      signal: new AbortController().signal,
    })
    api = await startWholeService({
      ...(await trustedTls()),
      patience: PATIENCE,
      authenticate: (request) => {
        identified.push(request.rawHeaders)
        return firstOf([tokens])(request)
      },
    })
    port = Number(new URL(api.url).port)
    api.join('m1', member.url)
    await create('pods')
    await eventually(async () => (await listed()) === 2, 'the pods')
  })

  after(async () => {
    await api?.stop()
    await member?.close()
  })

  async function create(name: string): Promise<void> {
    const spec = { targetCluster: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }] }
    await api.ok(REGISTRIES, {
      headers: { ...GOOD },
      body: { apiVersion: 'search.karmada.io/v1alpha1', kind: 'ResourceRegistry', metadata: { name }, spec },
    })
  }

  async function listed(): Promise<number> {
    const answer = await api.request(PODS, { headers: GOOD })
    return answer.status === 200 ? (answer.json() as { items: unknown[] }).items.length : 0
  }

  /** Bytes on a connection of their own, and everything that comes back until it is closed. */
  async function raw(bytes: string | Buffer, limitMs = 10_000): Promise<Answer> {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
    socket.on('error', () => undefined)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    const timer = setTimeout(() => socket.destroy(), limitMs)
    await once(socket, 'secureConnect')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(bytes)
    await closed
    clearTimeout(timer)
    const text = Buffer.concat(chunks).toString('latin1')
    const end = text.indexOf('\r\n\r\n')
    const head = end === -1 ? text : text.slice(0, end)
    return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), head, body: text.slice(end + 4) }
  }

  function request(target: string, more = '', method = 'GET', body = ''): string {
    const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
    return `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${AUTHORIZED}${length}${more}\r\n${body}`
  }

  async function flat(attack: () => Promise<void>): Promise<void> {
    await attack() // what it fills once (pools, compiled code) is not growth
    globalThis.gc?.()
    const before = process.memoryUsage.rss()
    await attack()
    globalThis.gc?.()
    const grown = process.memoryUsage.rss() - before
    assert.ok(grown < FLAT_BYTES, `grown by ${(grown / 2 ** 20).toFixed(1)} MiB`)
    assert.equal(await listed(), 2)
  }

  it('lets in nobody without an identity, whatever the headers claim', async () => {
    const forged = 'X-Remote-User: admin\r\nX-Remote-Group: system:masters\r\nImpersonate-User: admin\r\n'
    const bare = `GET ${PODS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`
    assert.equal((await raw(`${bare}${forged}\r\n`)).status, 401)
    assert.equal((await raw(`${bare}${forged}Authorization: Bearer bad\r\n\r\n`)).status, 401)
    assert.equal((await raw(`${bare}Authorization: Bearer bad\r\n${AUTHORIZED}\r\n`)).status, 401)
    assert.equal((await raw(`${bare}Authorization: Basic Z29vZDpnb29k\r\n\r\n`)).status, 401)
    assert.equal((await raw(`${bare}${AUTHORIZED}\r\n`)).status, 200)
  })

  it('reads no request in two ways: lengths, chunks, folds, line ends', async () => {
    const smuggled = `GET ${REGISTRIES}/smuggled HTTP/1.1\r\nHost: x\r\n${AUTHORIZED}\r\n`
    const head = `POST ${REGISTRIES} HTTP/1.1\r\nHost: x\r\n${AUTHORIZED}Content-Type: application/json\r\n`
    const shapes: [string, string][] = [
      ['length and chunks', `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`],
      ['chunks and length', `${head}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${smuggled}`],
      ['two lengths', `${head}Content-Length: 0\r\nContent-Length: 6\r\n\r\n${smuggled}`],
      ['the same length twice', `${head}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}${smuggled}`],
      ['a list of lengths', `${head}Content-Length: 0, 6\r\n\r\n${smuggled}`],
      ['a signed length', `${head}Content-Length: +0\r\n\r\n${smuggled}`],
      ['a negative length', `${head}Content-Length: -1\r\n\r\n${smuggled}`],
      ['a hexadecimal length', `${head}Content-Length: 0x0\r\n\r\n${smuggled}`],
      ['a length too long for a number', `${head}Content-Length: 99999999999999999999999\r\n\r\n${smuggled}`],
      ['a coding after chunked', `${head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`],
      ['chunked twice', `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`],
      ['an unknown coding', `${head}Transfer-Encoding: xchunked\r\n\r\n${smuggled}`],
      ['a space before the colon', `${head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${smuggled}`],
      ['a folded header', `${head}X-A: b\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`],
      ['a folded coding', `${head}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${smuggled}`],
      ['line feeds alone', `${head}Content-Length: 2\r\n\r\n{}`.replaceAll('\r\n', '\n')],
      ['a line feed in between', `${head}X-A: b\nX-C: d\r\nContent-Length: 0\r\n\r\n${smuggled}`],
      ['a carriage return in a value', `${head}X-A: b\rTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n`],
      ['a NUL in a value', `${head}X-A: b\0c\r\nContent-Length: 0\r\n\r\n`],
      ['a NUL in a name', `${head}X-\0A: b\r\nContent-Length: 0\r\n\r\n`],
      ['a header without a name', `${head}: b\r\nContent-Length: 0\r\n\r\n`],
      ['no host', `GET ${PODS} HTTP/1.1\r\n${AUTHORIZED}\r\n`],
      ['a chunk size that is none', `${head}Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n`],
      ['a prefixed chunk size', `${head}Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n`],
      ['a chunk longer than it says', `${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`],
      ['a chunk size that overflows', `${head}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n`],
      ['a space in the target', `GET ${PODS} ${REGISTRIES} HTTP/1.1\r\nHost: x\r\n${AUTHORIZED}\r\n`],
      ['a version that is none', `GET ${PODS} HTTP/9.9\r\nHost: x\r\n${AUTHORIZED}\r\n`],
      ['HTTP/0.9', `GET ${PODS}\r\n\r\n`],
      ['HTTP/2 where HTTP/1.1 was chosen', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ]
    for (const [what, bytes] of shapes) {
      const before = identified.length
      const { status, body } = await raw(bytes, 3_000)
      assert.equal(status, 400, `${what}: ${status}`)
      // Of chunks the head is fine; nothing of what follows it is taken for a request.
      assert.ok(identified.length - before <= 1, `${what}: ${identified.length - before} requests`)
      assert.equal((body.match(/HTTP\/1\.1/g) ?? []).length, 0, `${what}: more than one answer`)
    }
    assert.equal((await api.request(`${REGISTRIES}/smuggled`, { headers: GOOD })).status, 404)
  })

  it('answers pipelined requests in order, each judged by itself', async () => {
    const first = `GET ${PODS} HTTP/1.1\r\nHost: x\r\n${AUTHORIZED}\r\n`
    const second = `GET ${PODS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
    const { head, body } = await raw(first + second)
    assert.match(head, /^HTTP\/1\.1 200/)
    assert.match(body, /HTTP\/1\.1 401/)
  })

  it('serves no path under another name', async () => {
    const tricks: [string, number][] = [
      [`${BASE}/search/../resourceregistries`, 400],
      [`${BASE}/search/%2e%2e/resourceregistries`, 400],
      [`${BASE}/search/cache%2fapi%2fv1%2fpods`, 400],
      [`${BASE}/search/cache/..%2f..%2fresourceregistries`, 400],
      [`${BASE}/resourceregistries/pods%00`, 400],
      [`${BASE}/resourceregistries/pods%2fstatus`, 400],
      [`${BASE}/resourceregistries//pods`, 400],
      [`${BASE}/resourceregistries/pods//status`, 400],
      [`/${BASE}/resourceregistries`, 404],
      [`${BASE}//resourceregistries`, 404],
      [`/apis//search.karmada.io/v1alpha1/resourceregistries`, 400],
      [`/apis/search.karmada.io/v1alpha1/../v1alpha1/resourceregistries`, 400],
      [`${BASE}/RESOURCEREGISTRIES`, 404],
      [`${BASE}/%72esourceregistries`, 404],
      [`${BASE}/resourceregistries;x=y`, 404],
      [`${BASE}\\resourceregistries`, 404],
      [`http://elsewhere${BASE}/resourceregistries`, 404],
      ['/metrics/../healthz', 404],
      ['/healthz/../metrics', 404],
      ['/healthz%2f..%2fmetrics', 404],
      ['//metrics', 404],
      ['/%6detrics', 404],
      ['*', 404],
      [`${PODS}/../secrets`, 400],
      [`${PROXY}/api/v1/namespaces/default/pods/..%2fsecrets`, 400],
      [`${PROXY}/../../../resourceregistries`, 400],
    ]
    for (const [target, expected] of tricks) {
      const { status, body } = await raw(request(target))
      assert.ok(
        status === expected || (expected === 400 && status === 404),
        `${target}: ${status} ${body.slice(0, 200)}`,
      )
      assert.match(body, /"kind":"Status"/, target)
    }
    assert.equal((await raw(request('/'))).status, 200)
  })

  it('refuses headers that are too large, over both', async () => {
    await flat(async () => {
      for (let round = 0; round < 30; round++) {
        const { status, body } = await raw(request(PODS, `X-Long: ${'a'.repeat(200_000)}\r\n`))
        assert.ok(status === 431 || status === 0, String(status)) // a reset may overtake the answer
        if (status === 431) assert.match(body, /"code":431/)
      }
      const many = Array.from({ length: 20_000 }, (_, at) => `X-${at}: b\r\n`).join('')
      assert.ok([431, 0].includes((await raw(request(PODS, many))).status))
    })
    const session = http2()
    const stream = session.request({ ':path': PODS, ...GOOD, 'x-long': 'a'.repeat(200_000) })
    stream.on('error', () => undefined)
    let status: unknown
    stream.on('response', (headers) => (status = headers[':status']))
    await closing(stream)
    // The whole connection is ended where one header alone is beyond what HTTP/2's tables hold.
    assert.ok(status === undefined || status === 431, String(status))
    session.destroy()
  })

  it('refuses bodies that are too large, said so beforehand or not, over both', async () => {
    const type = 'Content-Type: application/json\r\n'
    const megabyte = 'a'.repeat(1 << 20)
    await flat(async () => {
      for (let round = 0; round < 5; round++) {
        const said = await raw(request(REGISTRIES, type, 'POST', megabyte.repeat(4)))
        assert.equal(said.status, 413)
        const chunk = `${megabyte.length.toString(16)}\r\n${megabyte}\r\n`
        const chunked = `${request(REGISTRIES, `${type}Transfer-Encoding: chunked\r\n`, 'POST')}${chunk.repeat(4)}0\r\n\r\n`
        assert.equal((await raw(chunked)).status, 413)
      }
    })
    const session = http2()
    for (const headers of [{ 'content-length': String(4 << 20) }, {}]) {
      const stream = session.request({
        ':method': 'POST',
        ':path': REGISTRIES,
        'content-type': 'application/json',
        ...GOOD,
        ...headers,
      })
      stream.on('error', () => undefined)
      stream.end(megabyte.repeat(4))
      const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders]
      assert.equal(answer[':status'], 413)
    }
    session.destroy()
  })

  it('reads a body for so long, and no longer, from who never stops', async () => {
    const endless = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
    endless.on('error', () => undefined)
    await once(endless, 'secureConnect')
    endless.write(request(REGISTRIES, 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n', 'POST'))
    let sent = 0
    const chunk = Buffer.from(`10000\r\n${'a'.repeat(0x10000)}\r\n`)
    const closed = closing(endless)
    const pour = (): void => {
      while (!endless.destroyed && endless.write(chunk)) sent += chunk.length
      if (!endless.destroyed) endless.once('drain', pour)
    }
    pour()
    await closed
    assert.ok(sent < 64 << 20, `${sent} bytes were taken`)
    assert.equal(await listed(), 2)
  })

  it('survives JSON and selectors nested as deep as fits, and questions as long as fit', async () => {
    const type = 'Content-Type: application/json\r\n'
    await flat(async () => {
      for (const body of [
        '['.repeat(1_000_000),
        `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
        `${'{"a":'.repeat(300_000)}1${'}'.repeat(300_000)}`,
        `{"metadata":{"name":"deep"},"spec":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`,
      ]) {
        for (const [method, target] of [
          ['POST', REGISTRIES],
          ['PUT', `${REGISTRIES}/pods`],
        ] as const) {
          const { status } = await raw(request(target, type, method, body))
          assert.ok([400, 422].includes(status), String(status))
        }
      }
      for (const selector of [
        `labelSelector=${'a,'.repeat(15_000)}`,
        `labelSelector=a%20in%20(${'b,'.repeat(10_000)}b)`,
        `labelSelector=${'a%3Db,'.repeat(5_000)}c`,
        `fieldSelector=${'metadata.name%3Da,'.repeat(2_000)}metadata.name%3Db`,
        `q=${'('.repeat(20_000)}`,
        `q=${'a%20OR%20'.repeat(4_000)}b`,
      ]) {
        for (const target of [PODS, `${PROXY}/api/v1/pods`, QUERY]) {
          const startedMs = performance.now()
          const { status } = await raw(request(`${target}?${selector}`))
          assert.ok(status === 200 || status === 400, `${target} ${status}`)
          assert.ok(performance.now() - startedMs < 5_000)
        }
      }
      assert.equal((await raw(request(`${PODS}?labelSelector=${'a'.repeat(60_000)}`))).status, 400)
    })
  })

  it('waits for slow headers, bodies and handshakes no longer than it says', async () => {
    const startedMs = performance.now()
    const drip = async (socket: Socket, text: string): Promise<void> => {
      socket.on('error', () => undefined)
      socket.resume()
      const closed = closing(socket)
      for (const character of text) {
        if (socket.destroyed) break
        socket.write(character)
        await delay(50)
      }
      await closed
    }
    const tls = async (): Promise<Socket> => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
      await once(socket, 'secureConnect')
      return socket
    }
    const headers = Array.from({ length: 20 }, async () =>
      drip(await tls(), request(PODS, `X: ${'a'.repeat(200)}\r\n`)),
    )
    const bodies = Array.from({ length: 20 }, async () => {
      const socket = await tls()
      socket.write(
        `POST ${REGISTRIES} HTTP/1.1\r\nHost: x\r\n${AUTHORIZED}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n`,
      )
      await drip(socket, ' '.repeat(1_000))
    })
    const handshakes = Array.from({ length: 20 }, () =>
      drip(connectTcp(port, '127.0.0.1'), '\x16\x03\x01\x02\x00'.repeat(40)),
    )
    const silent = Array.from({ length: 20 }, async () => drip(await tls(), ''))
    assert.equal(await listed(), 2)
    await Promise.all([...headers, ...bodies, ...handshakes, ...silent])
    assert.ok(performance.now() - startedMs < 8_000, `${performance.now() - startedMs} ms`)
    assert.equal(await listed(), 2)
  })

  function http2(): ClientHttp2Session {
    const session = connectHttp2(api.url, { rejectUnauthorized: false, maxSendHeaderBlockLength: 1 << 20 })
    session.on('error', () => undefined)
    return session
  }

  it('HTTP/2: ends connections that open and reset streams in a flood', async () => {
    await flat(async () => {
      const raw2 = await connectRaw(port)
      for (let stream = 1; stream < 20_000 && !raw2.socket.destroyed; stream += 2) {
        raw2.send(
          frame(FRAME.headers, END_HEADERS | END_STREAM, stream, get(PODS)),
          frame(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, 8])),
        )
        if (stream % 501 === 0) await delay(1)
      }
      await Promise.race([raw2.closed, delay(3_000)])
      const ended = raw2.socket.destroyed || raw2.frames.some(({ type }) => type === FRAME.goaway)
      raw2.socket.destroy()
      assert.ok(ended, 'the connection went on')
    })
  })

  it('HTTP/2: ends connections whose headers never end, or that flood it with settings and pings', async () => {
    await flat(async () => {
      for (const flood of [
        (at: number): Buffer =>
          at === 0
            ? frame(FRAME.headers, 0, 1, get(PODS))
            : frame(FRAME.continuation, 0, 1, headerBlock([[`x-${at}`, 'a'.repeat(8_000)]])),
        (): Buffer => frame(FRAME.settings, 0, 0, Buffer.alloc(6 * 200, Buffer.from([0, 1, 0, 0, 16, 0]))),
        (): Buffer => frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
      ]) {
        const raw2 = await connectRaw(port)
        raw2.socket.pause() // and never reads what it is answered
        for (let at = 0; at < 20_000 && !raw2.socket.destroyed; at++) {
          raw2.send(flood(at))
          if (at % 500 === 0) await delay(1)
        }
        raw2.socket.resume()
        await Promise.race([raw2.closed, delay(3_000)])
        raw2.socket.destroy()
        assert.equal(await listed(), 2)
      }
    })
  })

  it('HTTP/2: takes no header that only HTTP/1.1 has, no second length, no path with a line end', async () => {
    const shapes: readonly (readonly (readonly [string, string])[])[] = [
      [['transfer-encoding', 'chunked']],
      [['connection', 'keep-alive']],
      [['upgrade', 'websocket']],
      [
        ['content-length', '1'],
        ['content-length', '2'],
      ],
      [['x-a', 'b\r\nx-remote-user: admin']],
      [['X-Upper', 'b']],
      [[':path', '/metrics']],
      [[':unknown', 'x']],
      [['x-a', 'b\0']],
    ]
    for (const extra of shapes) {
      const before = identified.length
      const raw2 = await connectRaw(port)
      const block = Buffer.concat([get(PODS), headerBlock(extra)])
      raw2.send(frame(FRAME.headers, END_HEADERS | END_STREAM, 1, block))
      const refused = (): boolean =>
        raw2.frames.some(({ type }) => type === FRAME.reset || type === FRAME.goaway) || raw2.socket.destroyed
      await eventually(
        () => refused() || raw2.frames.some(({ type }) => type === FRAME.headers),
        JSON.stringify(extra),
        3_000,
      )
      raw2.socket.destroy()
      // Some are refused as requests; of some only the line is left out. Nothing of it ever comes through.
      const seen = identified.slice(before).flat()
      const names = extra.map(([name]) => name)
      assert.ok(!seen.some((text, at) => at % 2 === 0 && names.includes(text) && !text.startsWith(':')), String(seen))
      assert.ok(!seen.some((text) => /[\r\n\0]|remote-user|metrics/i.test(text)), String(seen))
    }
    assert.equal(await listed(), 2)
  })

  it('HTTP/2: lets idle connections go, and those that wait for a body that never comes', async () => {
    const idle = await connectRaw(port)
    const slow = await connectRaw(port)
    slow.send(
      frame(
        FRAME.headers,
        END_HEADERS,
        1,
        headerBlock([
          [':method', 'POST'],
          [':scheme', 'https'],
          [':path', `${REGISTRIES}?timeout=1s`],
          [':authority', 'localhost'],
          ['authorization', 'Bearer good'],
          ['content-type', 'application/json'],
        ]),
      ),
    )
    await Promise.race([Promise.all([idle.closed, slow.closed]), delay(8_000)])
    assert.ok(idle.socket.destroyed && slow.socket.destroyed)
    assert.equal(await listed(), 2)
  })

  it('holds idle connections cheaply, and lets them go', async () => {
    const count = 500
    globalThis.gc?.()
    const before = process.memoryUsage.rss()
    const sockets = await Promise.all(
      Array.from({ length: count }, async () => {
        const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
        socket.on('error', () => undefined)
        socket.resume()
        // Where handshakes take long, the first ones are let go before the last ones have come.
        await Promise.race([once(socket, 'secureConnect').catch(() => undefined), closing(socket)])
        return socket
      }),
    )
    assert.equal(await listed(), 2)
    const each = (process.memoryUsage.rss() - before) / count
    // Both ends are in this process.
    assert.ok(each < 400_000, `${each} bytes for each connection`)
    await Promise.all(sockets.map(closing))
    assert.equal(await listed(), 2)
  })

  it('has met no fault of its own', () => {
    assert.deepEqual(
      api.log.filter(({ level }) => level >= 50).map(({ msg, err }) => `${msg}: ${JSON.stringify(err).slice(0, 300)}`),
      [],
    )
    assert.deepEqual(api.faults, [])
  })
})

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  connect as connectHttp2,
  constants,
  type ClientHttp2Session,
  type SecureClientSessionOptions,
} from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, before, describe, it } from 'node:test'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { presentedChain } from '../../src/apiserver/authn/presented-chain.ts'
import { commonTls, listen, type RunningServer, type TlsOptions } from '../../src/apiserver/server.ts'
import { cipherChoice, curveChoice } from '../../src/apiserver/tls/cipher-suites.ts'
import { ServerCertificates, type CertificatePair } from '../../src/apiserver/tls/certificates.ts'
import { systemClock } from '../../src/util/clock.ts'
import { createAuthority, type Authority } from '../support/certificates.ts'
import { until } from '../support/fake-clock.ts'
import { testTls } from '../support/test-tls.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

const answer: Handler = (request, response) => {
  response.end(JSON.stringify({ version: request.httpVersion, headers: request.rawHeaders.length / 2 }))
}

describe('server', () => {
  let authority: Authority
  let server: RunningServer | undefined
  const open: { destroy(): void }[] = []

  before(async () => {
    authority = await createAuthority('servers')
  })
  afterEach(async () => {
    for (const connection of open.splice(0)) connection.destroy()
    await server?.close(0)
    server = undefined
  })

  async function start(tls: Partial<TlsOptions> = {}, handler: Handler = answer): Promise<RunningServer> {
    server = await listen(handler, { host: '127.0.0.1', port: 0, tls: await testTls(tls) }, systemClock)
    return server
  }

  async function pair(commonName: string, ...dnsNames: string[]): Promise<CertificatePair> {
    const issued = await authority.issue({ commonName, dnsNames, ips: ['127.0.0.1'] })
    return { certificate: issued.certPem, key: issued.keyPem }
  }

  async function handshake(options: ConnectionOptions = {}): Promise<TLSSocket> {
    const socket = connect({ host: '127.0.0.1', port: server!.port, rejectUnauthorized: false, ...options })
    open.push(socket)
    await once(socket, 'secureConnect')
    return socket
  }

  /** The common name of the certificate that is shown for a server name. */
  async function shown(servername?: string): Promise<string> {
    const socket = await handshake(servername === undefined ? {} : { servername })
    const { subject } = new X509Certificate(socket.getPeerCertificate().raw)
    return subject.replace(/^CN=/, '')
  }

  function http2(options: SecureClientSessionOptions = {}): ClientHttp2Session {
    const session = connectHttp2(server!.url, { rejectUnauthorized: false, ...options })
    session.on('error', () => undefined)
    open.push(session)
    return session
  }

  async function ask(session: ClientHttp2Session, headers: Record<string, string | string[]> = {}): Promise<string> {
    const stream = session.request({ ':path': '/', ...headers })
    let text = ''
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    await once(stream, 'end')
    return text
  }

  function overHttp1(headers: Record<string, string> = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { rejectUnauthorized: false, agent: false, headers, ALPNProtocols: ['http/1.1'] } as const
      httpsRequest(server!.url, options, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve(text))
      })
        .on('error', reject)
        .end()
    })
  }

  it('speaks HTTP/2 and HTTP/1.1 on one port, as the client chooses', async () => {
    await start()
    assert.match(await ask(http2()), /"version":"2.0"/)
    assert.match(await overHttp1(), /"version":"1.1"/)
    const silent = await handshake()
    silent.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const [chunk] = (await once(silent, 'data')) as [Buffer]
    assert.match(chunk.toString(), /^HTTP\/1\.1 200 /)
  })

  it('speaks HTTP/1.1 alone where HTTP/2 is switched off', async () => {
    await start({ http2: false })
    const socket = await handshake({ ALPNProtocols: ['h2', 'http/1.1'] })
    assert.equal(socket.alpnProtocol, 'http/1.1')
    assert.match(await overHttp1(), /"version":"1.1"/)
  })

  it('tells clients how many streams they may open, and that there are no others than requests', async () => {
    await start({ http2MaxStreams: 7 })
    const session = http2()
    const [settings] = (await once(session, 'remoteSettings')) as [Record<string, unknown>]
    assert.equal(settings['maxConcurrentStreams'], 7)
    assert.equal(settings['enableConnectProtocol'], false)
    const stream = session.request({ ':method': 'CONNECT', ':authority': 'example.org:443' })
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
    assert.equal(headers[':status'], 405)
  })

  it('takes hundreds of header lines, over both', async () => {
    await start({ http2: true }, (request, response) => {
      const groups = request.rawHeaders.filter((name) => name.toLowerCase() === 'x-remote-group')
      response.end(String(groups.length))
    })
    const groups = Array.from({ length: 1_000 }, (_, at) => `cn=group-${at},ou=groups,dc=example,dc=org`)
    assert.equal(await ask(http2({ maxSendHeaderBlockLength: 1 << 20 }), { 'x-remote-group': groups }), '1000')
    const socket = await handshake()
    const lines = Array.from({ length: 3_000 }, (_, at) => `X-Remote-Group: g${at}\r\n`).join('')
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`)
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    await once(socket, 'close')
    assert.match(text, /3000/)
  })

  it('knows a client by an intermediate on every connection, resumed or not', async () => {
    const clients = await createAuthority('clients')
    const intermediate = await clients.intermediate('middle')
    const leaf = await intermediate.issue({ commonName: 'dave' })
    const chains: number[] = []
    await start({}, (request, response) => {
      chains.push(presentedChain(request)?.intermediates.length ?? -1)
      response.end()
    })
    const certificate = { cert: `${leaf.certPem}\n${intermediate.certPem}`, key: leaf.keyPem }
    let session: Buffer | undefined
    for (let round = 0; round < 3; round++) {
      const socket = await handshake({ ...certificate, ...(session === undefined ? {} : { session }) })
      socket.on('session', (offered: Buffer) => (session = offered))
      assert.equal(socket.isSessionReused(), false)
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      socket.resume()
      await once(socket, 'close')
    }
    await ask(http2(certificate))
    assert.deepEqual(chains, [1, 1, 1, 1])
  })

  it('takes nothing older than the version it was told', async () => {
    const { ciphers } = cipherChoice([])
    await start({ certificates: new ServerCertificates(commonTls('TLSv1.3', ciphers, undefined), await pair('a')) })
    assert.equal((await handshake()).getProtocol(), 'TLSv1.3')
    await assert.rejects(handshake({ maxVersion: 'TLSv1.2' }))
    await server?.close(0)
    await start()
    assert.equal((await handshake({ maxVersion: 'TLSv1.2' })).getProtocol(), 'TLSv1.2')
    await assert.rejects(handshake({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }))
  })

  it('offers the cipher suites and curves it was told, and always those of TLS 1.3', async () => {
    const { ciphers } = cipherChoice(['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'])
    const common = commonTls('TLSv1.2', ciphers, curveChoice(['24']))
    await start({ certificates: new ServerCertificates(common, await pair('a')) })
    const old = await handshake({ maxVersion: 'TLSv1.2' })
    assert.equal(old.getCipher().standardName, 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384')
    assert.match(JSON.stringify(old.getEphemeralKeyInfo()), /secp384r1|P-384/)
    await assert.rejects(handshake({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }))
    await assert.rejects(handshake({ ecdhCurve: 'X25519' }))
    assert.equal((await handshake()).getProtocol(), 'TLSv1.3')
    assert.throws(() => cipherChoice(['TLS_NO_SUCH']), /TLS_NO_SUCH is no cipher suite/)
    assert.match(cipherChoice(['TLS_RSA_WITH_AES_128_GCM_SHA256']).warnings.join(), /insecure/)
    assert.match(cipherChoice(['TLS_RSA_WITH_RC4_128_SHA']).warnings.join(), /not offered/)
    assert.throws(() => curveChoice(['1']), /1 is no curve/)
  })

  it('shows the certificate of the name it is asked for; given names stand above found ones', async () => {
    const certificates = new ServerCertificates(
      commonTls('TLSv1.2', cipherChoice([]).ciphers, undefined),
      await pair('fallback'),
      [
        { ...(await pair('found', 'a.example.org', '*.found.org')), names: [] },
        { ...(await pair('given', 'x.example.org')), names: ['a.example.org', '*.given.org'] },
      ],
    )
    await start({ certificates })
    assert.equal(await shown(), 'fallback')
    assert.equal(await shown('other.example.org'), 'fallback')
    assert.equal(await shown('A.example.org'), 'given')
    assert.equal(await shown('b.given.org'), 'given')
    assert.equal(await shown('b.c.given.org'), 'fallback')
    assert.equal(await shown('b.found.org'), 'found')
    assert.equal(await shown('x.example.org'), 'fallback')
  })

  for (const withHttp2 of [true, false]) {
    it(`shows other certificates from one moment to the next (HTTP/2 ${withHttp2 ? 'on' : 'off'})`, async () => {
      const common = commonTls('TLSv1.2', cipherChoice([]).ciphers, undefined)
      const certificates = new ServerCertificates(common, await pair('old'), [
        { ...(await pair('old-named')), names: ['n'] },
      ])
      await start({ certificates, http2: withHttp2 })
      const standing = await handshake({ ALPNProtocols: ['http/1.1'] })
      assert.deepEqual([await shown(), await shown('n')], ['old', 'old-named'])
      certificates.replaceFallback(await pair('new'))
      certificates.replaceNamed([{ ...(await pair('new-named')), names: ['n'] }])
      assert.deepEqual([await shown(), await shown('n'), await shown('other')], ['new', 'new-named', 'new'])
      const torn = { certificate: (await pair('torn')).certificate, key: (await pair('torn')).key }
      assert.throws(() => certificates.replaceFallback(torn))
      assert.throws(() => certificates.replaceNamed([{ ...torn, names: ['n'] }]))
      assert.deepEqual([await shown(), await shown('n')], ['new', 'new-named'])
      standing.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      const [chunk] = (await once(standing, 'data')) as [Buffer]
      assert.match(chunk.toString(), /^HTTP\/1\.1 200 /)
    })
  }

  it('asks HTTP/2 clients to connect anew as often as it was told, without breaking what they do', async () => {
    const chances = [0.5, 0.001]
    await start({ goawayChance: 0.01, random: () => chances.shift() ?? 1 })
    const session = http2()
    assert.match(await ask(session), /2.0/)
    assert.equal(session.closed, false)
    const goaway = once(session, 'goaway')
    assert.match(await ask(session), /2.0/)
    const [code] = (await goaway) as [number]
    assert.equal(code, constants.NGHTTP2_NO_ERROR)
  })

  it('tells HTTP/2 clients that it will close before it does, and answers what they sent until they heard it', async () => {
    const waiting: ServerResponse[] = []
    await start({}, (_, response) => void waiting.push(response))
    const session = http2()
    const answers = [session.request({ ':path': '/' }), session.request({ ':path': '/' })]
    const goaway = once(session, 'goaway')
    await until(() => waiting.length === 2)
    assert.equal(server?.announceClose(), 1)
    const [code, lastStream] = (await goaway) as [number, number]
    assert.deepEqual([code, lastStream], [constants.NGHTTP2_NO_ERROR, 2 ** 31 - 1], 'no stream is refused')
    for (const response of waiting) response.end('whole')
    for (const each of answers) assert.equal(await text(each), 'whole')
    assert.equal(server?.announceClose(), 0, 'each is told once')
  })

  it('ends what is open within the grace it is given, over both', async () => {
    const ended: string[] = []
    await start({}, (request, response) => {
      response.write('watching')
      response.once('close', () => ended.push(request.httpVersion))
    })
    const stream = http2().request({ ':path': '/' })
    stream.on('error', () => undefined)
    await once(stream, 'data')
    const socket = await handshake()
    socket.on('error', () => undefined)
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
    await server?.close(50)
    server = undefined
    await until(() => ended.length === 2)
    assert.deepEqual(ended.sort(), ['1.1', '2.0'])
  })

  it('lets a handshake that does not go on and a connection without any go', async () => {
    await start()
    const tcp = connectTcp(server!.port, '127.0.0.1')
    open.push(tcp)
    await once(tcp, 'connect')
    await server?.close(0)
    server = undefined
    await once(tcp, 'close')
  })

  it('shares its port where it is told to', async () => {
    const first = await listen(answer, { host: '127.0.0.1', port: 0, sharePort: true }, systemClock)
    const second = await listen(answer, { host: '127.0.0.1', port: first.port, sharePort: true }, systemClock)
    await Promise.all([first.close(0), second.close(0)])
    const taken = createHttpServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    await assert.rejects(listen(answer, { host: '127.0.0.1', port }, systemClock), /in use/)
    taken.close()
  })
})

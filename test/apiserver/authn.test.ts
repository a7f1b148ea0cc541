import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { Agent, request as httpsRequest } from 'node:https'
import { after, before, beforeEach, describe, it } from 'node:test'
import { firstOf, type Authenticator } from '../../src/apiserver/authn/authenticator.ts'
import { parseBundle } from '../../src/apiserver/authn/certificate-chain.ts'
import { requestHeaderAuthenticator } from '../../src/apiserver/authn/request-header.ts'
import type { FrontProxyTrust, Trust } from '../../src/apiserver/authn/trust.ts'
import { x509Authenticator } from '../../src/apiserver/authn/x509.ts'
import { listen, type RunningServer } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/util/clock.ts'
import type { UserInfo } from '../../src/http/api-request.ts'
import { createAuthority, type Authority, type CertificatePair } from '../support/certificates.ts'
import { testTls } from '../support/test-tls.ts'

const FORGED = {
  'x-remote-user': 'admin',
  'x-remote-group': ['system:masters', 'dev'],
  'x-remote-extra-team%2Fname': 'a',
}

describe('authentication over real TLS', () => {
  let server: RunningServer
  let clientCa: Authority
  let proxyCa: Authority
  let trust: Trust
  const names = {
    allowedNames: ['front-proxy'],
    usernameHeaders: ['x-remote-user'],
    uidHeaders: ['x-remote-uid'],
    groupHeaders: ['x-remote-group'],
    extraHeaderPrefixes: ['x-remote-extra-'],
  }
  const authenticate: Authenticator = firstOf([
    requestHeaderAuthenticator(() => trust, systemClock),
    x509Authenticator(() => trust, systemClock),
  ])

  before(async () => {
    clientCa = await createAuthority('clients')
    proxyCa = await createAuthority('front proxy')
    server = await listen(
      (request, response) => {
        void Promise.resolve()
          .then(() => authenticate(request))
          .then(
            (user) => response.end(JSON.stringify(user ?? null)),
            () => response.destroy(),
          )
      },
      { host: '127.0.0.1', port: 0, tls: await testTls() },
      systemClock,
    )
  })
  beforeEach(() => {
    trustProxy({})
  })

  /** The two pools as they are, with other names. */
  function trustProxy(other: Partial<FrontProxyTrust>): void {
    trust = {
      clientRoots: parseBundle(clientCa.certPem),
      frontProxy: { ...names, roots: parseBundle(proxyCa.certPem), ...other },
    }
  }
  after(() => server.close(0))

  function whoAmI(
    pair: CertificatePair | undefined,
    headers: Record<string, string | string[]> = {},
    agent: Agent | false = false,
  ): Promise<UserInfo | null> {
    return new Promise((resolve, reject) => {
      const tls = pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem }
      const request = httpsRequest(server.url, { ...tls, headers, rejectUnauthorized: false, agent }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.on('end', () => {
          resolve(JSON.parse(text) as UserInfo | null)
        })
      })
      request.on('error', reject)
      request.end()
    })
  }

  it('F1 a: forged headers without a certificate are nobody', async () => {
    assert.equal(await whoAmI(undefined, FORGED), null)
  })

  it('F1 b, g: forged headers with an ordinary certificate are just its user', async () => {
    const bob = await clientCa.issue({ commonName: 'bob', organizations: ['dev', 'ops'] })
    assert.deepEqual(await whoAmI(bob, FORGED), {
      name: 'bob',
      uid: '',
      groups: ['dev', 'ops', 'system:authenticated'],
      extra: {},
    })
  })

  it('F1: an ordinary certificate whose name is an allowed front proxy is still just that user', async () => {
    const impostor = await clientCa.issue({ commonName: 'front-proxy' })
    assert.equal((await whoAmI(impostor, FORGED))?.name, 'front-proxy')
  })

  it('F1 c: a front-proxy certificate of another name is nobody', async () => {
    assert.equal(await whoAmI(await proxyCa.issue({ commonName: 'other' }), FORGED), null)
  })

  it('F1 d: the front proxy speaks for its callers', async () => {
    const user = await whoAmI(await proxyCa.issue({ commonName: 'front-proxy' }), { ...FORGED, 'x-remote-uid': '7' })
    assert.deepEqual(user, {
      name: 'admin',
      uid: '7',
      groups: ['system:masters', 'dev', 'system:authenticated'],
      extra: { 'team/name': ['a'] },
    })
  })

  it('F1 e: no allowed names means any name under that CA', async () => {
    trustProxy({ allowedNames: [] })
    assert.equal((await whoAmI(await proxyCa.issue({ commonName: 'other' }), FORGED))?.name, 'admin')
  })

  it('F1 f: only the configured headers count', async () => {
    trustProxy({ usernameHeaders: ['x-my-user'], groupHeaders: ['x-my-group'] })
    const user = await whoAmI(await proxyCa.issue({ commonName: 'front-proxy' }), { ...FORGED, 'x-my-user': 'carol' })
    assert.equal(user?.name, 'carol')
    assert.deepEqual(user?.groups, ['system:authenticated'])
  })

  it('takes names as they were written: a comma in a group, repeated headers, UTF-8', async () => {
    trustProxy({ usernameHeaders: ['x-first', 'x-remote-user'] })
    const bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')
    const user = await whoAmI(await proxyCa.issue({ commonName: 'front-proxy' }), {
      'x-first': '',
      'x-remote-user': bytes('system:serviceaccount:größe:漢'),
      'x-remote-group': ['cn=a, dc=b', bytes('prüfer'), ''],
      'X-Remote-Extra-Scopes': ['a', 'b'],
      'x-remote-extra-example.org%2Fproject': 'x',
    })
    assert.deepEqual(user, {
      name: 'system:serviceaccount:größe:漢',
      uid: '',
      groups: ['cn=a, dc=b', 'prüfer', 'system:authenticated'],
      extra: { scopes: ['a', 'b'], 'example.org/project': ['x'] },
    })
  })

  it('F1: a front proxy that names nobody, or half a character, vouches for nobody', async () => {
    const proxy = await proxyCa.issue({ commonName: 'front-proxy' })
    assert.equal(await whoAmI(proxy, {}), null)
    assert.equal(await whoAmI(proxy, { 'x-remote-group': 'system:masters' }), null)
    await assert.rejects(whoAmI(proxy, { 'x-remote-user': 'a\u00ff' }))
  })

  it('F1: takes over other CAs and other names without a restart, on connections that stand too', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const proxy = await proxyCa.issue({ commonName: 'front-proxy' })
    const bob = await clientCa.issue({ commonName: 'bob' })
    assert.equal((await whoAmI(proxy, FORGED, agent))?.name, 'admin')
    trustProxy({ allowedNames: ['another'] })
    assert.equal(await whoAmI(proxy, FORGED, agent), null)
    trustProxy({ roots: parseBundle((await createAuthority('front proxy')).certPem) })
    assert.equal(await whoAmI(proxy, FORGED, agent), null)
    trust = { ...trust, clientRoots: [] }
    assert.equal(await whoAmI(bob), null)
    trustProxy({})
    assert.equal((await whoAmI(proxy, FORGED, agent))?.name, 'admin')
    assert.equal((await whoAmI(bob))?.name, 'bob')
    trust = { ...trust, frontProxy: undefined }
    assert.equal(await whoAmI(proxy, FORGED, agent), null)
    agent.destroy()
  })

  it('refuses an expired certificate, one for servers only, and one of a stranger', async () => {
    const expired = await clientCa.issue({
      commonName: 'bob',
      notBefore: new Date(Date.now() - 9e6),
      notAfter: new Date(Date.now() - 1e6),
    })
    const forServers = await clientCa.issue({ commonName: 'bob', usages: ['serverAuth'] })
    const stranger = await (await createAuthority('clients')).issue({ commonName: 'bob' })
    assert.deepEqual(await Promise.all([expired, forServers, stranger].map((pair) => whoAmI(pair))), [null, null, null])
  })

  it('follows an intermediate that the client sends along', async () => {
    const intermediate = await clientCa.intermediate('middle')
    const leaf = await intermediate.issue({ commonName: 'dave' })
    const chain = { certPem: `${leaf.certPem}\n${intermediate.certPem}`, keyPem: leaf.keyPem }
    assert.equal((await whoAmI(chain))?.name, 'dave')
    assert.equal(await whoAmI(leaf), null)
    assert.equal(new X509Certificate(intermediate.certPem).ca, true)
  })
})

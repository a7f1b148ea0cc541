import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { request as httpsRequest } from 'node:https'
import { after, before, describe, it } from 'node:test'
import { firstOf, type Authenticator } from '../../src/apiserver/authn/authenticator.ts'
import { parseBundle } from '../../src/apiserver/authn/certificate-chain.ts'
import { requestHeaderAuthenticator } from '../../src/apiserver/authn/request-header.ts'
import { x509Authenticator } from '../../src/apiserver/authn/x509.ts'
import { listen, type RunningServer } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/util/clock.ts'
import type { UserInfo } from '../../src/http/api-request.ts'
import { createAuthority, type Authority, type CertificatePair } from '../support/certificates.ts'

const FORGED = {
  'x-remote-user': 'admin',
  'x-remote-group': ['system:masters', 'dev'],
  'x-remote-extra-team%2Fname': 'a',
}

describe('authentication over real TLS', () => {
  let server: RunningServer
  let clientCa: Authority
  let proxyCa: Authority
  let authenticate: Authenticator
  const options = {
    allowedNames: ['front-proxy'] as string[],
    usernameHeaders: ['x-remote-user'],
    uidHeaders: ['x-remote-uid'],
    groupHeaders: ['x-remote-group'],
    extraHeaderPrefixes: ['x-remote-extra-'],
    clock: systemClock,
  }

  before(async () => {
    clientCa = await createAuthority('clients')
    proxyCa = await createAuthority('front proxy')
    const serverPair = await (await createAuthority('servers')).issue({ commonName: 'server', ips: ['127.0.0.1'] })
    const proxyRoots = parseBundle(proxyCa.certPem)
    const clientRoots = parseBundle(clientCa.certPem)
    authenticate = firstOf([
      requestHeaderAuthenticator({ ...options, roots: () => proxyRoots }),
      x509Authenticator(() => clientRoots, systemClock),
    ])
    server = await listen(
      (request, response) => {
        void Promise.resolve(authenticate(request)).then((user) => response.end(JSON.stringify(user ?? null)))
      },
      {
        host: '127.0.0.1',
        port: 0,
        tls: {
          certificate: serverPair.certPem,
          key: serverPair.keyPem,
          minVersion: 'TLSv1.2',
          clientCas: [clientCa.certPem, proxyCa.certPem],
        },
      },
      systemClock,
    )
  })
  after(() => server.close(0))

  function whoAmI(
    pair: CertificatePair | undefined,
    headers: Record<string, string | string[]> = {},
  ): Promise<UserInfo | null> {
    return new Promise((resolve, reject) => {
      const tls = pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem }
      const request = httpsRequest(
        server.url,
        { ...tls, headers, rejectUnauthorized: false, agent: false },
        (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (chunk: string) => (text += chunk))
          response.on('end', () => {
            resolve(JSON.parse(text) as UserInfo | null)
          })
        },
      )
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
    const roots = parseBundle(proxyCa.certPem)
    const previous = authenticate
    authenticate = requestHeaderAuthenticator({ ...options, allowedNames: [], roots: () => roots })
    assert.equal((await whoAmI(await proxyCa.issue({ commonName: 'other' }), FORGED))?.name, 'admin')
    authenticate = previous
  })

  it('F1 f: only the configured headers count', async () => {
    const roots = parseBundle(proxyCa.certPem)
    const previous = authenticate
    authenticate = requestHeaderAuthenticator({
      ...options,
      usernameHeaders: ['x-my-user'],
      groupHeaders: ['x-my-group'],
      roots: () => roots,
    })
    const proxy = await proxyCa.issue({ commonName: 'front-proxy' })
    const user = await whoAmI(proxy, { ...FORGED, 'x-my-user': 'carol' })
    assert.equal(user?.name, 'carol')
    assert.deepEqual(user?.groups, [])
    authenticate = previous
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

/** How `serve` serves, on a real control plane: HTTP/2 from the aggregator, certificates that change, the audit log. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { connect } from 'node:tls'
import { createAuthority } from '../support/certificates.ts'
import { BASE, startServe, until, type ServeProcess } from '../support/karmada-fleet.ts'
import { createTestClient, startControlPlane, type RealCluster } from '../support/real-parts/index.ts'

const REGISTRIES = `${BASE}/resourceregistries`
const POLICY = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  nonResourceURLs: ['/apis*', '/openapi*', '/livez*', '/readyz*']
- level: None
  users: [system:aggregator]
- level: RequestResponse
  resources: [{group: search.karmada.io, resources: [resourceregistries]}]
  verbs: [create, delete]
- level: Metadata
`

interface Event {
  readonly level: string
  readonly stage: string
  readonly auditID: string
  readonly verb: string
  readonly requestURI: string
  readonly user: { readonly username: string }
  readonly requestObject?: { readonly metadata: { readonly name: string } }
  readonly responseObject?: { readonly metadata: { readonly uid: string } }
  readonly responseStatus: { readonly code: number }
}

describe('serving', () => {
  let host: RealCluster
  let serve: ServeProcess
  const file = (name: string): string => path.join(host.folder, name)

  before(async () => {
    host = await startControlPlane({ name: 'host', users: [{ name: 'nobody', token: 'nobody-token' }] })
    await host.ok('/api/v1/namespaces', { body: { metadata: { name: 'karmada-system' } } })
    const named = await (await createAuthority('named')).issue({ commonName: 'named', dnsNames: ['named.example.org'] })
    await Promise.all([
      writeFile(file('named.crt'), named.certPem),
      writeFile(file('named.key'), named.keyPem),
      writeFile(file('audit-policy.yaml'), POLICY),
    ])
    serve = await startServe(host, {
      flags: [
        '--log-level=debug',
        `--tls-sni-cert-key=${file('named.crt')},${file('named.key')}`,
        '--strict-transport-security-directives=max-age=31536000',
        `--audit-policy-file=${file('audit-policy.yaml')}`,
        `--audit-log-path=${file('audit.log')}`,
      ],
    })
  })

  after(async () => {
    await serve?.stop()
    await host?.stop()
  })

  const audit = (): Event[] =>
    readFileSync(file('audit.log'), 'utf8')
      .trim()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Event)

  async function shown(servername: string): Promise<string> {
    const socket = connect({ host: '127.0.0.1', port: serve.port, servername, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const { subject } = new X509Certificate(socket.getPeerCertificate().raw)
    socket.destroy()
    return subject
  }

  it('is spoken to in HTTP/2 by the aggregator, and answers it all the same in HTTP/1.1', async () => {
    assert.equal((await host.request(REGISTRIES)).status, 200)
    const logged = (what: string): Promise<void> =>
      until(async () => readFileSync(file('fleetsearch.log'), 'utf8').includes(what), what, 5_000)
    await logged(`"http":"2.0","method":"GET","path":"${REGISTRIES}"`)
    const answer = await overHttp1(REGISTRIES)
    assert.equal(answer.statusCode, 200)
    assert.equal(answer.headers['strict-transport-security'], 'max-age=31536000')
    await logged('"http":"1.1","method":"GET"')
    const { certPem, keyPem } = host.pki.admin
    const direct = createTestClient({ url: serve.url, caPem: serve.caPem, certPem, keyPem })
    assert.match((await direct.request('/readyz?verbose')).text, /^\[\+\]authentication ok$/m)
    await direct.close()
  })

  /** Node's own client speaks nothing else. */
  async function overHttp1(target: string): Promise<IncomingMessage> {
    const { certPem, keyPem } = host.pki.admin
    const options = { ca: serve.caPem, cert: certPem, key: keyPem, agent: false } as const
    const [answer] = (await once(get(`${serve.url}${target}`, options), 'response')) as [IncomingMessage]
    answer.resume()
    return answer
  }

  it('writes down what the policy asks for, under the id the aggregator gave', async () => {
    const registry = {
      apiVersion: 'search.karmada.io/v1alpha1',
      kind: 'ResourceRegistry',
      metadata: { name: 'audited' },
      spec: { targetCluster: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }] },
    }
    const created = await host.request(REGISTRIES, { body: registry })
    assert.equal(created.status, 201)
    // Through the aggregator he would not even get here.
    const nobody = createTestClient({ url: serve.url, caPem: serve.caPem, token: 'nobody-token' })
    assert.equal((await nobody.request(`${REGISTRIES}/audited`)).status, 403)
    await nobody.close()
    await host.ok(`${REGISTRIES}/audited`, { method: 'DELETE' })
    await until(async () => audit().some(({ verb }) => verb === 'delete'), 'the events', 5_000)
    const events = audit().filter(({ requestURI }) => requestURI.startsWith(REGISTRIES))
    const create = events.find(({ verb }) => verb === 'create')
    // The aggregator names it too, so that it is there twice.
    assert.ok(create && String(created.headers['audit-id']).startsWith(create.auditID))
    assert.equal(create?.user.username, 'admin')
    assert.deepEqual(create?.requestObject, registry)
    assert.equal(create?.responseObject?.metadata.uid, (created.json() as { metadata: { uid: string } }).metadata.uid)
    const denied = events.find(({ user }) => user.username === 'nobody')
    assert.equal(denied?.responseStatus.code, 403)
    assert.equal(denied?.level, 'Metadata')
    assert.ok(audit().every(({ stage, requestURI }) => stage !== 'RequestReceived' && requestURI !== '/openapi/v2'))
  })

  it('shows the certificate of the name, and other ones once their files have changed', async () => {
    assert.equal(await shown('named.example.org'), 'CN=named')
    assert.equal(await shown('localhost'), 'CN=karmada-search')
    const fresh = await (await createAuthority('fresh')).issue({ commonName: 'fresh', dnsNames: ['localhost'] })
    const other = await (await createAuthority('other')).issue({ commonName: 'other', dnsNames: ['named.example.org'] })
    // The certificate alone does not fit the old key: it is taken over with the new one only.
    await writeFile(file('search.crt'), fresh.certPem)
    await writeFile(file('named.crt'), other.certPem)
    await writeFile(file('named.key'), other.keyPem)
    await until(async () => (await shown('named.example.org')) === 'CN=other', 'the other certificate', 15_000)
    assert.equal(await shown('localhost'), 'CN=karmada-search')
    await writeFile(file('search.key'), fresh.keyPem)
    await until(async () => (await shown('localhost')) === 'CN=fresh', 'the fresh certificate', 15_000)
  })
})

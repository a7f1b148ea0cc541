/**
 * How `serve` serves, on a real control plane: HTTP/2 from the aggregator, certificates that change, the audit log, pages of
 * others, profiles, health checks, traces.
 */
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
import { createTestClient, startControlPlane, type RealCluster, type TestClient } from '../support/real-parts/index.ts'
import { startTraceCollector, type TraceCollector } from '../support/trace-collector.ts'

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

const TRACING = `
apiVersion: apiserver.config.k8s.io/v1
kind: TracingConfiguration
samplingRatePerMillion: 1000000
endpoint: `

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
  let collector: TraceCollector
  const clients: TestClient[] = []
  const file = (name: string): string => path.join(host.folder, name)

  before(async () => {
    host = await startControlPlane({ name: 'host', users: [{ name: 'nobody', token: 'nobody-token' }] })
    await host.ok('/api/v1/namespaces', { body: { metadata: { name: 'karmada-system' } } })
    const named = await (await createAuthority('named')).issue({ commonName: 'named', dnsNames: ['named.example.org'] })
    collector = await startTraceCollector()
    await Promise.all([
      writeFile(file('tracing.yaml'), TRACING + collector.url.replace('http://', '')),
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
        `--tracing-config-file=${file('tracing.yaml')}`,
        '--cors-allowed-origins=^https://console\\.example\\.org$',
        `--etcd-servers=${host.etcdUrl}`,
        '--etcd-prefix=/karmada',
      ],
    })
  })

  after(async () => {
    await Promise.all(clients.map((client) => client.close()))
    await serve?.stop()
    await collector?.close()
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

  /** Straight to our port. */
  function direct(token?: string): TestClient {
    const { certPem, keyPem } = host.pki.admin
    const identity = token === undefined ? { certPem, keyPem } : { token }
    const client = createTestClient({ url: serve.url, caPem: serve.caPem, ...identity })
    clients.push(client)
    return client
  }

  it('lets the pages of an allowed origin read answers, and those of no other', async () => {
    const nobody = direct('nobody-token')
    const from = (origin: string, method = 'GET') => nobody.request('/livez', { method, headers: { origin } })
    const allowed = await from('https://console.example.org')
    assert.equal(allowed.headers['access-control-allow-origin'], 'https://console.example.org')
    assert.equal(allowed.headers['access-control-allow-credentials'], 'true')
    assert.equal((await from('https://console.example.org.evil.org')).headers['access-control-allow-origin'], undefined)
    const preflight = createTestClient({ url: serve.url, caPem: serve.caPem })
    clients.push(preflight)
    const asking = { method: 'OPTIONS', headers: { origin: 'https://console.example.org' } }
    assert.equal((await preflight.request(REGISTRIES, asking)).status, 204)
    assert.equal((await preflight.request(REGISTRIES, { headers: asking.headers })).status, 401)
    // A kube-apiserver takes such headers out of what it passes on: behind it its own flag decides.
    const passed = await host.request(REGISTRIES, { headers: asking.headers })
    assert.deepEqual([passed.status, passed.headers['access-control-allow-origin']], [200, undefined])
  })

  it('takes profiles for who may get that path, and for nobody else', async () => {
    const nobody = direct('nobody-token')
    const profile = '/debug/pprof/profile?seconds=0.05'
    const refused = await nobody.request(profile)
    assert.equal(refused.status, 403)
    assert.match(refused.text, /User \\"nobody\\" cannot get path \\"\/debug\/pprof\/profile\\"/)
    assert.ok('nodes' in ((await direct().request(profile)).json() as object), 'an administrator')
    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    const rule = { nonResourceURLs: ['/debug/pprof', '/debug/pprof/*'], verbs: ['get'] } // of docs/operations.md
    const metadata = { name: 'fleetsearch-profiling' }
    await host.ok(`${rbac}/clusterroles`, { body: { metadata, rules: [rule] } })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name }
    const subjects = [{ apiGroup: roleRef.apiGroup, kind: 'User', name: 'nobody' }]
    await host.ok(`${rbac}/clusterrolebindings`, { body: { metadata, roleRef, subjects } })
    // A refusal is remembered for ten seconds, of a path alone.
    const taken = await nobody.request('/debug/pprof/heap?seconds=0.05')
    assert.equal(taken.status, 200, taken.text)
    assert.ok('head' in (taken.json() as object))
    assert.equal((await nobody.request('/debug/pprof/heapsnapshot')).status, 404, 'without --enable-pprof')
  })

  it('tells of etcd by the names of karmada-search’s checks', async () => {
    const admin = direct()
    for (const path of ['/healthz/etcd', '/livez/etcd', '/readyz/etcd', '/readyz/etcd-readiness']) {
      const { status, text } = await admin.request(path)
      assert.deepEqual([status, text], [200, 'ok'], path)
    }
    assert.match((await admin.request('/readyz?verbose')).text, /^\[\+\]etcd-readiness ok \(does not count here\)$/m)
  })

  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

  it('follows a caller’s trace', async () => {
    const headers = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` }
    const { certPem, keyPem } = await host.pki.authority.issue({ commonName: 'nobody' })
    const nobody = createTestClient({ url: serve.url, caPem: serve.caPem, certPem, keyPem })
    clients.push(nobody)
    assert.equal((await nobody.request(`${REGISTRIES}/traced`, { headers })).status, 403)
    assert.equal((await direct().request(`${REGISTRIES}/traced`, { headers })).status, 404)
    assert.equal((await host.request(`${REGISTRIES}/passed-on`)).status, 404)
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

  it('has sent the collector what was asked meanwhile, and below it what of etcd and the control plane', async () => {
    const { spans } = collector
    const asked = () => spans.filter(({ traceId, name }) => traceId === TRACE && name === `GET ${REGISTRIES}`)
    await until(async () => asked().length === 2, 'the spans', 15_000)
    const below = spans.filter(({ parentSpanId }) => asked().some(({ spanId }) => spanId === parentSpanId))
    const names = below.map(({ name, attributes }) => `${name} ${attributes['url.full'] ?? ''}`).join('\n')
    assert.match(names, /subjectaccessreviews/)
    assert.match(names, /etcdserverpb\.KV\/Range/)
    assert.ok(spans.some(({ attributes }) => attributes['url.path'] === `${REGISTRIES}/passed-on`))
    assert.ok(spans.every(({ service }) => service === 'fleetsearch'))
  })
})

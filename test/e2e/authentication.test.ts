/**
 * Who is who, on a real control plane: the aggregator's callers, certificates, tokens of real service accounts, impersonation;
 * with what the control plane publishes of its CAs looked up and followed, and with no more rights than deploy/rbac.yaml gives.
 */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { BASE, prepareHost, startServe, until, type ServeProcess } from '../support/karmada-fleet.ts'
import { createAuthority, type CertificatePair } from '../support/certificates.ts'
import {
  createTestClient,
  kubeconfig,
  startControlPlane,
  type RealCluster,
  type TestRequest,
} from '../support/real-parts/index.ts'

const CACHE = `${BASE}/search/cache/api/v1/pods`
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const GROUP = 'rbac.authorization.k8s.io'
const FORGED = { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' }

const USERS = [
  { name: 'fleetsearch', token: 'fleetsearch-token' },
  { name: 'viewer', token: 'viewer-token', groups: ['viewers'] },
  { name: 'editor', token: 'editor-token' },
  { name: 'boss', token: 'boss-token' },
  { name: 'nobody', token: 'nobody-token' },
]

describe('authentication', () => {
  let host: RealCluster
  let serve: ServeProcess

  before(async () => {
    host = await startControlPlane({ name: 'host', users: USERS })
    await prepareHost(host)
    const rbac = await readFile(path.join(import.meta.dirname, '../../deploy/rbac.yaml'), 'utf8')
    await host.kubectl(['apply', '-f', '-'], { input: rbac })
    for (const [user, role] of [
      ['viewer', 'fleetsearch-viewer'],
      ['editor', 'fleetsearch-editor'],
      ['boss', 'fleetsearch-admin'],
      ['fleetsearch', 'fleetsearch'],
      ['fleetsearch', 'system:auth-delegator'],
    ] as const) {
      await host.ok(`${RBAC}/clusterrolebindings`, {
        body: {
          metadata: { name: `${user}-${role.replace(':', '-')}` },
          roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: role },
          subjects: [{ apiGroup: GROUP, kind: 'User', name: user }],
        },
      })
    }
    for (const [namespace, role] of [
      ['kube-system', 'extension-apiserver-authentication-reader'],
      ['karmada-system', 'fleetsearch-leader-election'],
    ] as const) {
      await host.ok(`${RBAC}/namespaces/${namespace}/rolebindings`, {
        body: {
          metadata: { name: 'fleetsearch' },
          roleRef: { apiGroup: GROUP, kind: 'Role', name: role },
          subjects: [{ apiGroup: GROUP, kind: 'User', name: 'fleetsearch' }],
        },
      })
    }
    const kubeconfigPath = path.join(host.folder, 'fleetsearch-kubeconfig')
    const access = { name: 'host', url: host.url, caPem: host.caPem, token: 'fleetsearch-token' }
    await writeFile(kubeconfigPath, kubeconfig(access))
    serve = await startServe(host, { lookup: true, kubeconfigPath })
  })

  after(async () => {
    await serve?.stop()
    await host?.stop()
  })

  /** Straight to our port; the status. */
  async function direct(pair: CertificatePair | undefined, target: string, options: TestRequest = {}): Promise<number> {
    const client = createTestClient({ url: serve.url, caPem: serve.caPem, ...(pair ?? {}) })
    try {
      return (await client.request(target, options)).status
    } finally {
      await client.close()
    }
  }

  it('knows the aggregator’s callers from the looked-up front-proxy CA', async () => {
    assert.equal((await host.request(CACHE)).status, 200)
    assert.equal((await host.request(CACHE, { token: 'viewer-token' })).status, 200)
    const refused = await host.request(CACHE, { token: 'nobody-token' })
    assert.equal(refused.status, 403)
    assert.match(refused.text, /User \\"nobody\\" cannot get resource \\"search\/api\\"/)
  })

  it('gives each role what it says', async () => {
    const registry = {
      apiVersion: 'search.karmada.io/v1alpha1',
      kind: 'ResourceRegistry',
      metadata: { name: 'x' },
      spec: { targetCluster: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }] },
    }
    const registries = `${BASE}/resourceregistries`
    // What the control plane itself refuses the caller is another matter: pods are not registered here.
    const allowed = async (token: string, target: string, method: string, body?: object): Promise<boolean> => {
      const { status, text } = await host.request(target, { token, method, ...(body === undefined ? {} : { body }) })
      return status !== 403 || !text.includes('search.karmada.io')
    }
    for (const [token, writes, decides] of [
      ['viewer-token', false, false],
      ['editor-token', true, false],
      ['boss-token', true, true],
    ] as const) {
      assert.ok(await allowed(token, `${BASE}/search/query?q=a`, 'GET'), token)
      assert.ok(await allowed(token, `${BASE}/search/cache/apis/apps/v1/deployments`, 'GET'), token)
      assert.ok(await allowed(token, `${BASE}/proxying/karmada/proxy/api`, 'GET'), token)
      assert.ok(await allowed(token, registries, 'GET'), token)
      const write = `${BASE}/proxying/karmada/proxy/api/v1/namespaces/default/pods`
      assert.equal(await allowed(token, write, 'POST', {}), writes, token)
      assert.equal(await allowed(token, registries, 'POST', registry), decides, token)
      assert.equal(await allowed(token, `${registries}/x`, 'DELETE'), decides, token)
    }
  })

  it('F1: believes headers of nobody but the front proxy', async () => {
    const { authority, frontProxy } = host.pki
    const clients: [string, CertificatePair | undefined, number][] = [
      ['no certificate', undefined, 401],
      ['an ordinary one', await authority.issue({ commonName: 'nobody' }), 403],
      ['an ordinary one with the front proxy’s name', await authority.issue({ commonName: 'front-proxy-client' }), 403],
      ['a front proxy’s of another name', await frontProxy.issue({ commonName: 'other' }), 401],
      [
        'an expired one of the front proxy',
        await frontProxy.issue({
          commonName: 'front-proxy-client',
          notBefore: new Date(Date.now() - 9e6),
          notAfter: new Date(Date.now() - 1e6),
        }),
        401,
      ],
      [
        'a front proxy’s for servers only',
        await frontProxy.issue({ commonName: 'front-proxy-client', usages: ['serverAuth'] }),
        401,
      ],
      ['one of a stranger', await (await createAuthority('x')).issue({ commonName: 'front-proxy-client' }), 401],
      ['the front proxy’s', await frontProxy.issue({ commonName: 'front-proxy-client' }), 200],
      ['an administrator’s', host.pki.admin, 200],
    ]
    for (const [what, pair, status] of clients) {
      assert.equal(await direct(pair, CACHE, { headers: FORGED }), status, what)
    }
  })

  it('knows bearer tokens, those of service accounts too', async () => {
    await host.ok('/api/v1/namespaces/default/serviceaccounts', { body: { metadata: { name: 'robot' } } })
    const issued = (await host.ok('/api/v1/namespaces/default/serviceaccounts/robot/token', {
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    })) as { status: { token: string } }
    const { token } = issued.status
    assert.equal(await direct(undefined, CACHE, { token }), 403)
    await host.ok(`${RBAC}/clusterrolebindings`, {
      body: {
        metadata: { name: 'robot' },
        roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'fleetsearch-viewer' },
        subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: 'default' }],
      },
    })
    await until(async () => (await direct(undefined, CACHE, { token })) === 200, 'the right', 30_000)
    assert.equal(await direct(undefined, CACHE, { token: 'viewer-token' }), 200)
    assert.equal(await direct(undefined, CACHE, { token: 'invented' }), 401)
    assert.equal(await direct(undefined, CACHE, { token: 'viewer-token', headers: FORGED }), 200)
    assert.equal(await direct(undefined, '/metrics', { token: 'viewer-token' }), 403)
    assert.equal(await direct(undefined, '/metrics', { token: 'boss-token' }), 200)
  })

  it('lets everybody see whether it lives, and nothing else', async () => {
    assert.equal(await direct(undefined, '/livez'), 200)
    for (const target of ['/healthz', '/readyz', '/readyz?verbose']) {
      assert.equal(await direct(undefined, target), 200, target)
    }
    for (const target of [
      '/',
      '/metrics',
      '/version',
      '/apis',
      BASE,
      '/openapi/v2',
      '/healthzz',
      '/healthz/',
      '/livez/../metrics',
    ]) {
      assert.equal(await direct(undefined, target), 401, target)
    }
  })

  it('F2: lets somebody act as somebody else only where the control plane does', async () => {
    const nobody = await host.pki.authority.issue({ commonName: 'nobody' })
    const as = (pair: CertificatePair, user: string, ...groups: string[]): Promise<number> =>
      direct(pair, CACHE, {
        headers: { 'impersonate-user': user, ...(groups[0] === undefined ? {} : { 'impersonate-group': groups[0] }) },
      })
    assert.equal(await as(nobody, 'viewer'), 403)
    assert.equal(await as(host.pki.admin, 'viewer'), 200)
    assert.equal(await as(host.pki.admin, 'nobody'), 403)
    assert.equal(await direct(host.pki.admin, CACHE, { headers: { 'impersonate-group': 'viewers' } }), 400)
    await host.ok(`${RBAC}/clusterroles`, {
      body: {
        metadata: { name: 'acts-as-viewer' },
        rules: [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: ['viewer'] }],
      },
    })
    await host.ok(`${RBAC}/clusterrolebindings`, {
      body: {
        metadata: { name: 'acts-as-viewer' },
        roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'acts-as-viewer' },
        subjects: [{ apiGroup: GROUP, kind: 'User', name: 'nobody' }],
      },
    })
    await until(async () => (await as(nobody, 'viewer')) === 200, 'the right', 30_000)
    assert.equal(await as(nobody, 'editor'), 403)
    assert.equal(await as(nobody, 'viewer', 'system:masters'), 403)
  })

  it('F1: takes over what the control plane publishes anew, without a restart', async () => {
    const fresh = await createAuthority('front proxy')
    const proxy = await fresh.issue({ commonName: 'another-proxy', usages: ['clientAuth'] })
    assert.equal(await direct(proxy, CACHE, { headers: FORGED }), 401)
    const configMap = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
    const { data } = (await host.ok(configMap)) as { data: Record<string, string> }
    const patch = async (changed: Record<string, string>): Promise<void> => {
      await host.ok(configMap, {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: JSON.stringify({ data: changed }),
      })
    }
    await patch({
      'requestheader-client-ca-file': `${data['requestheader-client-ca-file'] ?? ''}${fresh.certPem}`,
      'requestheader-allowed-names': '["front-proxy-client","another-proxy"]',
    })
    const soon = 'the other front proxy'
    await until(async () => (await direct(proxy, CACHE, { headers: FORGED })) === 200, soon, 10_000)
    assert.equal((await host.request(CACHE)).status, 200)
    await patch({ 'requestheader-allowed-names': 'no list' })
    await patch({
      'requestheader-client-ca-file': data['requestheader-client-ca-file'] ?? '',
      'requestheader-allowed-names': '["front-proxy-client"]',
    })
    await until(async () => (await direct(proxy, CACHE, { headers: FORGED })) === 401, 'the old one alone', 10_000)
    assert.equal((await host.request(CACHE)).status, 200)
  })

  it('goes on knowing callers while the control plane is away, and refuses what it cannot decide', async () => {
    assert.equal(await direct(host.pki.admin, CACHE), 200)
    await host.kill('STOP')
    try {
      assert.equal(await direct(host.pki.admin, CACHE), 200)
      const stranger = await host.pki.authority.issue({ commonName: 'never-seen-before' })
      assert.equal(await direct(stranger, CACHE), 503)
      assert.equal(await direct(undefined, CACHE, { token: 'never-seen-before' }), 503)
    } finally {
      await host.kill('CONT')
    }
    const again = async (): Promise<boolean> => (await direct(undefined, CACHE, { token: 'viewer-token' })) === 200
    await until(again, 'the control plane', 30_000)
  })
})

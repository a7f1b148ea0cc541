/** The harness that all tests against real Kubernetes stand on. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  HANDS_OFF,
  startControlPlane,
  startKwok,
  type GuardedProcess,
  type RealCluster,
} from '../support/real-parts/index.ts'

const PODS = '/api/v1/namespaces/default/pods'

const pod = (name: string, annotations: Record<string, string> = {}) => ({
  metadata: { name, annotations },
  spec: { nodeName: 'node-1', containers: [{ name: 'app', image: 'nginx' }] },
})

describe('real parts', () => {
  let cluster: RealCluster
  let kwok: GuardedProcess

  before(async () => {
    const users = [{ name: 'jane', token: 'janes-token', groups: ['readers'] }]
    cluster = await startControlPlane({ name: 'member1', users })
    kwok = await startKwok(cluster)
  })
  after(async () => {
    const { folder } = cluster
    await kwok.stop()
    await cluster.stop()
    assert.ok(!existsSync(folder), 'nothing is left behind')
  })

  it('plays nodes and pods', async () => {
    await cluster.ok(PODS, { body: pod('runs') })
    await cluster.ok(PODS, { body: pod('left-alone', { [HANDS_OFF]: 'true' }) })
    await until(async () => (await phase('runs')) === 'Running')
    assert.equal(await phase('left-alone'), 'Pending')
    assert.match(await cluster.kubectl(['get', 'nodes']), /node-1\s+Ready/)
    await cluster.ok(`${PODS}/runs`, { method: 'DELETE' })
    await until(async () => (await cluster.request(`${PODS}/runs`)).status === 404)
  })

  it('knows its static users and asks RBAC about them', async () => {
    assert.equal((await cluster.request('/api/v1/pods', { token: 'janes-token' })).status, 403)
    assert.equal((await cluster.request('/api/v1/pods', { token: 'nobodys' })).status, 401)
    assert.equal(await cluster.kubectl(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}']), 'admin')
  })

  it('publishes what servers behind the aggregation layer check it with', async () => {
    const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
    const { data } = (await cluster.ok(path)) as { data: Record<string, string> }
    assert.equal(data['requestheader-client-ca-file'], cluster.pki.frontProxy.certPem)
    assert.equal(data['requestheader-allowed-names'], '["front-proxy-client"]')
    assert.equal(data['client-ca-file'], cluster.caPem)
  })

  it('comes back on the same address, with its objects', async () => {
    await cluster.kill()
    await assert.rejects(cluster.request('/readyz'))
    await cluster.restart()
    assert.equal((await cluster.request(`${PODS}/left-alone`)).status, 200)
  })

  it('hangs and goes on', async () => {
    await cluster.kill('STOP')
    await assert.rejects(cluster.request('/readyz', { signal: AbortSignal.timeout(300) }))
    await cluster.kill('CONT')
    assert.equal((await cluster.request('/readyz')).status, 200)
  })

  it('forgets its history when it is told to, and everything with a fresh etcd', async () => {
    const { metadata } = (await cluster.ok(PODS)) as { metadata: { resourceVersion: string } }
    await cluster.ok('/api/v1/namespaces/default/configmaps', { body: { metadata: { name: 'newer' } } })
    await cluster.compact()
    await cluster.restart()
    const old = await cluster.request(`${PODS}?watch=true&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`)
    assert.match(old.text, /"code":410/)
    await cluster.restart({ freshEtcd: true })
    assert.equal((await cluster.request(`${PODS}/left-alone`)).status, 404)
  })

  async function phase(name: string): Promise<string | undefined> {
    const { status } = (await cluster.ok(`${PODS}/${name}`)) as { status?: { phase?: string } }
    return status?.phase
  }
})

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (await condition()) return
    await delay(100)
  }
  assert.fail('did not happen within 10 s')
}

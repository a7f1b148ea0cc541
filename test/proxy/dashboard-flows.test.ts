/**
 * What k9s and dashboards ask of a fleet without a control plane, beside what kubectl does: metrics (objects without a version),
 * reviews without a kind, probes of what is not there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MemberRequest } from '../../src/fleet/member.ts'
import type { Loopback } from '../http/loopback.ts'
import { P, withApi } from './api-fixture.ts'
import { TestFleet } from './fleet-fixture.ts'
import { MemberWorld, scriptedClient, served, type Reply } from './member-fixture.ts'
import { membersPlugin } from './members-plugin.ts'

const METRICS = '/apis/metrics.k8s.io/v1beta1'

/** As metrics-server answers: neither lists nor objects have a resourceVersion or a uid. */
function metricsServer(name: string): (request: MemberRequest) => Reply {
  const usage = { cpu: '3m', memory: '12Mi' }
  const times = { timestamp: '2026-11-30T00:00:00Z', window: '15s' }
  const node = { metadata: { name: `node-${name}`, creationTimestamp: '2026-11-30T00:00:00Z' }, ...times, usage }
  const containers = [{ name: 'app', usage }]
  const pod = { metadata: { name: `web-${name}`, namespace: 'default', labels: { app: 'web' } }, ...times, containers }
  const list = (kind: string, items: object[]): Reply => ({
    body: { kind: `${kind}List`, apiVersion: 'metrics.k8s.io/v1beta1', metadata: {}, items },
  })
  return ({ path, body }) => {
    const [at] = path.split('?')
    switch (at) {
      case `${METRICS}/nodes`:
        return list('NodeMetrics', [node])
      case `${METRICS}/pods`:
      case `${METRICS}/namespaces/default/pods`:
        return list('PodMetrics', [pod])
      case `${METRICS}/nodes/node-${name}`:
        return { body: { kind: 'NodeMetrics', apiVersion: 'metrics.k8s.io/v1beta1', ...node } }
      case '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews':
        return { status: 201, body: { ...(JSON.parse(String(body)) as object), status: { allowed: true } } }
      case '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews':
        return { status: 201, body: { status: { resourceRules: [], nonResourceRules: [], incomplete: false } } }
      default:
        return { status: 404, body: { kind: 'Status', code: 404, message: 'not found' } }
    }
  }
}

async function withDashboard(run: (api: Loopback) => Promise<void>): Promise<void> {
  const fleet = new TestFleet()
  const world = new MemberWorld(fleet.clock)
  const kind = { group: 'metrics.k8s.io', version: 'v1beta1', verbs: ['get', 'list'] }
  for (const name of ['m1', 'm2']) {
    world.engage(name, scriptedClient(metricsServer(name)), [
      served('nodes', 'NodeMetrics', { ...kind, namespaced: false }),
      served('pods', 'PodMetrics', kind),
    ])
  }
  await withApi(fleet, world, run, { behind: [membersPlugin(fleet, world)] })
}

test('metrics of all clusters: lists, one object, by namespace', () =>
  withDashboard(async (api) => {
    for (const [path, names] of [
      [`${METRICS}/nodes`, ['node-m1', 'node-m2']],
      [`${METRICS}/pods`, ['web-m1', 'web-m2']],
      [`${METRICS}/namespaces/default/pods?labelSelector=app%3Dweb`, ['web-m1', 'web-m2']],
    ] as const) {
      const { status, json, text } = await api.ask(P + path)
      assert.equal(status, 200, text)
      assert.deepEqual(
        json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
        names,
      )
      assert.equal(json.items[0].metadata.annotations['cluster.karmada.io/name'], 'm1')
    }
    const one = await api.ask(`${P}${METRICS}/nodes/node-m2`)
    assert.deepEqual([one.status, one.json.usage], [200, { cpu: '3m', memory: '12Mi' }], one.text)
    assert.equal((await api.ask(`${P}${METRICS}/nodes/none`)).status, 404)
    const table = await api.ask(`${P}${METRICS}/nodes`, {
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' },
    })
    assert.deepEqual([table.status, table.json.rows.length], [200, 2], table.text)
  }))

test('reviews without a kind are what their path says, as a kube-apiserver has it', () =>
  withDashboard(async (api) => {
    const post = (resource: string, body: object) =>
      api.ask(`${P}/apis/${resource}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const spec = { resourceAttributes: { verb: 'list', resource: 'pods' } }
    const access = await post('authorization.k8s.io/v1/selfsubjectaccessreviews', { spec })
    assert.deepEqual([access.status, access.json.status?.allowed], [201, true], access.text)
    assert.deepEqual([access.json.kind, access.json.apiVersion], ['SelfSubjectAccessReview', 'authorization.k8s.io/v1'])
    const rules = await post('authorization.k8s.io/v1/selfsubjectrulesreviews', { spec: { namespace: 'default' } })
    assert.deepEqual([rules.status, rules.json.status?.incomplete], [201, false], rules.text)
    const self = await post('authentication.k8s.io/v1/selfsubjectreviews', {})
    assert.deepEqual([self.status, self.json.status?.userInfo.username], [201, 'admin'], self.text)
  }))

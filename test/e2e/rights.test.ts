/**
 * What `fleetsearch serve` shows to a user who may use it and has few rights in the member, through a real aggregation
 * layer, in each mode of `--rights`.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { podManifest } from '../support/manifests.ts'
import { BASE, CACHE, PROXY, startKarmadaFleet, startServe, until } from '../support/karmada-fleet.ts'
import type { KarmadaFleet, ServeProcess } from '../support/karmada-fleet.ts'
import type { RealCluster, TestResponse } from '../support/real-parts/index.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const GROUP = 'rbac.authorization.k8s.io'
const token = 'bob-token'
const BOB = { apiGroup: GROUP, kind: 'User', name: 'team:bob' }
const TEAM = { apiGroup: GROUP, kind: 'Group', name: 'équipe' }

async function bind(
  cluster: RealCluster,
  name: string,
  namespace: string,
  rules: object[],
  subject: object,
): Promise<void> {
  await cluster.ok(`${RBAC}/clusterroles`, { body: { metadata: { name }, rules } })
  const body = { metadata: { name }, roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name }, subjects: [subject] }
  const scope = namespace === '' ? 'clusterrolebindings' : `namespaces/${namespace}/rolebindings`
  await cluster.ok(`${RBAC}/${scope}`, { body })
}

const namesOf = (answer: TestResponse): string[] =>
  (answer.json() as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name)

describe('rights of a user of serve', () => {
  let fleet: KarmadaFleet
  let host: RealCluster
  let member: RealCluster
  let serve: ServeProcess
  const asBob = (path: string): Promise<TestResponse> => host.request(path, { token })
  const status = async (path: string): Promise<number> => (await asBob(path)).status

  before(async () => {
    fleet = await startKarmadaFleet(['member1'])
    host = fleet.host
    member = fleet.members[0] as RealCluster
    for (const name of ['ns1', 'ns2']) {
      await member.ok('/api/v1/namespaces', { body: { metadata: { name } } })
      await member.ok(`/api/v1/namespaces/${name}/pods`, {
        body: { ...podManifest(`pod-${name}`), metadata: { name: `pod-${name}` } },
      })
      await member.ok(`/api/v1/namespaces/${name}/secrets`, { body: { metadata: { name: `hidden-${name}` } } })
    }
    const read = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }
    await bind(member, 'team-reads-pods', 'ns1', [read], TEAM)
    const use = [
      {
        apiGroups: ['search.karmada.io'],
        resources: ['search', 'search/api', 'search/apis', 'proxying/proxy'],
        verbs: ['*'],
      },
    ]
    await bind(host, 'bob-uses-fleetsearch', '', use, BOB)
  })
  after(async () => {
    await serve?.stop()
    await fleet?.stop()
  })

  describe('by default', () => {
    before(async () => {
      serve = await startServe(host)
    })

    it('F2: a kind that nobody registered is asked of the control plane, as the caller', async () => {
      const answer = await asBob(`${PROXY}/api/v1/secrets`)
      assert.equal(answer.status, 403)
      assert.match(answer.text, /User \\"team:bob\\" cannot list resource \\"secrets\\" in API group \\"\\"/)
      assert.equal((await host.request(`${PROXY}/api/v1/secrets`)).status, 200)
      await bind(
        host,
        'bob-reads-configmaps',
        'karmada-system',
        [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
        BOB,
      )
      await until(
        async () => (await status(`${PROXY}/api/v1/namespaces/karmada-system/configmaps`)) === 200,
        'the right in the control plane',
      )
    })

    it('F2: a registered kind shows what its member would show the caller, by name and by group', async () => {
      await fleet.register('all', {
        targetCluster: {},
        resourceSelectors: [
          { apiVersion: 'v1', kind: 'Pod' },
          { apiVersion: 'v1', kind: 'Secret' },
        ],
      })
      await until(async () => namesOf(await host.request(`${CACHE}/api/v1/secrets`)).length >= 2, 'the secrets')
      await until(async () => namesOf(await host.request(`${CACHE}/api/v1/pods`)).length === 2, 'the pods')

      assert.equal(await status(`${PROXY}/api/v1/secrets`), 403)
      assert.equal(await status(`${PROXY}/api/v1/namespaces/ns1/secrets/hidden-ns1`), 403)
      assert.equal(await status(`${CACHE}/api/v1/secrets`), 403)
      assert.equal(await status(`${PROXY}/api/v1/pods`), 403)
      assert.deepEqual(namesOf(await asBob(`${PROXY}/api/v1/namespaces/ns1/pods`)), ['pod-ns1'])
      const pods = await asBob(`${CACHE}/api/v1/pods`)
      assert.deepEqual(namesOf(pods), ['pod-ns1'])
      assert.match(String(pods.headers['warning']), /shown in part/)
    })

    it('F2: a query counts nothing that the caller could not list', async () => {
      await until(async () => {
        const { total } = (await host.request(`${BASE}/search/query?q=kind:(Pod,Secret)`)).json() as { total: number }
        return total >= 4
      }, 'the index')
      const answer = await asBob(`${BASE}/search/query?q=&facets=kind,namespace,name`)
      const { total, facets } = answer.json() as { total: number; facets: Record<string, { values: object[] }> }
      assert.deepEqual(
        [total, ...['kind', 'namespace', 'name'].map((facet) => facets[facet]?.values)],
        [1, [{ value: 'Pod', count: 1 }], [{ value: 'ns1', count: 1 }], [{ value: 'pod-ns1', count: 1 }]],
      )
    })

    it('ends a watch within seconds when the right is taken away', async () => {
      const path = `${PROXY}/api/v1/namespaces/ns1/pods`
      const { metadata } = (await asBob(path)).json() as { metadata: { resourceVersion: string } }
      const watch = asBob(`${path}?watch=true&timeoutSeconds=60&resourceVersion=${metadata.resourceVersion}`)
      await until(async () => (await status(path)) === 200, 'the watch')
      const startedMs = performance.now()
      await member.ok(`${RBAC}/namespaces/ns1/rolebindings/team-reads-pods`, { method: 'DELETE' })
      const { text } = await watch
      assert.ok(performance.now() - startedMs < 5_000)
      assert.match(text, /"type":"ERROR".*"code":410/)
      assert.equal(await status(path), 403)
    })
  })

  describe('by the control plane’s own rights', () => {
    before(async () => {
      await serve.stop()
      await host.ok('/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.search.karmada.io', { method: 'DELETE' })
      await host.ok('/api/v1/namespaces/karmada-system/services/karmada-search', { method: 'DELETE' })
      serve = await startServe(host, { flags: ['--rights=control-plane'] })
      await until(async () => namesOf(await host.request(`${CACHE}/api/v1/pods`)).length === 2, 'the pods')
    })

    it('shows of every member what the control plane allows', async () => {
      assert.equal(await status(`${CACHE}/api/v1/pods`), 403)
      assert.equal(await status(`${PROXY}/api/v1/namespaces/ns2/pods`), 403)
      await bind(host, 'bob-reads-pods', '', [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }], BOB)
      await until(
        async () => (await status(`${CACHE}/api/v1/pods`)) === 200,
        'the right, once the cached answer is old',
      )
      assert.deepEqual(namesOf(await asBob(`${PROXY}/api/v1/pods`)), ['pod-ns1', 'pod-ns2'])
      assert.equal(await status(`${PROXY}/api/v1/namespaces/ns1/pods/pod-ns1`), 403) // list is not get
      assert.equal(await status(`${CACHE}/api/v1/secrets`), 403)
      const query = (await asBob(`${BASE}/search/query?q=&facets=kind`)).json() as { total: number }
      assert.equal(query.total, 2)
    })
  })
})

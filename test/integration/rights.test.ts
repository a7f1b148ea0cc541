/** What one caller sees of two real members, and what becomes of it when rights change. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { BASE, startRightsWorld, type Caller, type RightsWorld } from '../support/rights-world.ts'
import type { RealCluster } from '../support/real-parts/index.ts'
import { eventually } from '../support/whole-service.ts'
import { watchEvents, type WatchEvents } from '../support/watch-events.ts'

const PROXY = `${BASE}/proxying/karmada/proxy`
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const bob: Caller = { name: 'system:bob@例え', groups: ['équipe'] }
const BOB = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: bob.name }
const TEAM = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'équipe' }

async function grant(
  member: RealCluster,
  name: string,
  namespace: string,
  rules: object[],
  subject = BOB,
): Promise<void> {
  await member.ok(`${RBAC}/clusterroles`, { body: { metadata: { name }, rules } })
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
  const body = { metadata: { name }, roleRef, subjects: [subject] }
  if (namespace === '') await member.ok(`${RBAC}/clusterrolebindings`, { body })
  else await member.ok(`${RBAC}/namespaces/${namespace}/rolebindings`, { body })
}

const reading = (resource: string): object => ({
  apiGroups: [''],
  resources: [resource],
  verbs: ['get', 'list', 'watch'],
})

describe('one caller’s rights in real members', () => {
  let world: RightsWorld
  let east: RealCluster
  let west: RealCluster
  const asBob = async (path: string): ReturnType<RightsWorld['ours']> => world.ours(bob, path)
  const status = async (path: string): Promise<number> => (await asBob(path)).status

  before(async () => {
    world = await startRightsWorld()
    ;[east, west] = world.members as [RealCluster, RealCluster]
  })
  after(() => world.stop())

  test('F2: nothing tells of a Secret that the caller could not list, by whatever way he asks', async () => {
    await grant(east, 'bob-configmaps', 'ns1', [reading('configmaps')], TEAM)
    await eventually(async () => (await status(`${PROXY}/api/v1/namespaces/ns1/configmaps`)) === 200, 'the right')

    for (const query of ['', '?consistency=strong', '?limit=1', '?watch=true&timeoutSeconds=1']) {
      const answer = await asBob(`${PROXY}/api/v1/secrets${query}`)
      assert.equal(answer.status, 403, query)
      assert.doesNotMatch(answer.text, /only-east|only-west/)
    }
    for (const name of ['a', 'only-east', 'gone']) {
      for (const query of ['', '?consistency=strong']) {
        assert.equal(await status(`${PROXY}/api/v1/namespaces/ns1/secrets/${name}${query}`), 403)
      }
      // Whether it exists, and in how many clusters, is told by no other verb either.
      for (const method of ['PUT', 'PATCH', 'DELETE', 'POST']) {
        const path = `${PROXY}/api/v1/namespaces/ns1/secrets/${name}`
        const answer = await world.service.request(path, {
          method,
          headers: { 'x-test-user': encodeURIComponent(bob.name), 'x-test-groups': encodeURIComponent('["équipe"]') },
          body: {},
        })
        assert.equal(answer.status, 403, `${method} ${name}: ${answer.text}`)
      }
      assert.equal(await status(`${BASE}/search/cache/api/v1/namespaces/ns1/secrets/${name}`), 403)
    }
    assert.equal(await status(`${BASE}/search/cache/api/v1/secrets`), 403)
    assert.equal(await status(`${BASE}/search/cache/api/v1/secrets?sortBy=name`), 403)

    for (const q of ['kind:Secret', 'only-east', 'ns:ns1', 'kind:*', '-kind:ConfigMap', '']) {
      const answer = await asBob(
        `${BASE}/search/query?limit=1000&facets=kind,namespace,cluster,name&q=${encodeURIComponent(q)}`,
      )
      assert.equal(answer.status, 200)
      const { items, total, facets, freshness } = answer.json() as {
        items: { object: { kind: string; metadata: { namespace: string } } }[]
        total: number
        facets: Record<string, { values: { value: string }[] }>
        freshness: { cluster: string; state: string; inPart?: boolean }[]
      }
      for (const { object } of items) assert.deepEqual([object.kind, object.metadata.namespace], ['ConfigMap', 'ns1'])
      assert.equal(total, items.length)
      const valuesOf = (facet: string): string[] => (facets[facet]?.values ?? []).map(({ value }) => value)
      assert.ok(!valuesOf('kind').includes('Secret'))
      assert.ok(valuesOf('cluster').every((cluster) => cluster === 'east'))
      assert.ok(valuesOf('namespace').every((namespace) => namespace === 'ns1'))
      assert.deepEqual(
        freshness.map(({ cluster, state, inPart = false }) => [cluster, state, inPart]),
        [
          ['east', 'live', true],
          ['west', 'missing', false],
        ],
      )
      assert.match(String(answer.headers['warning']), /1 of 2 clusters is missing/)
    }
  })

  test('a list of all namespaces is what the member says; search/cache shows the namespaces that may be listed', async () => {
    assert.equal(await status(`${PROXY}/api/v1/configmaps`), 403)
    const answer = await asBob(`${BASE}/search/cache/api/v1/configmaps`)
    const { items } = answer.json() as { items: { metadata: { namespace: string; name: string } }[] }
    assert.deepEqual(
      items.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`),
      ['ns1/a', 'ns1/b', 'ns1/c', 'ns1/only-east'],
    )
    assert.match(String(answer.headers['warning']), /west \(you may not list configmaps\).*shown in part: east/)
  })

  test('a right that is taken away ends the watch within seconds; one that is given lets it go on with more', async (t) => {
    await grant(east, 'bob-nodes', '', [reading('nodes')])
    await grant(west, 'bob-nodes', '', [reading('nodes')])
    const nodes = `${PROXY}/api/v1/nodes`
    await eventually(async () => (await clustersOf(await asBob(nodes))).length === 2, 'the right in both members')

    const list = (await asBob(nodes)).json() as { metadata: { resourceVersion: string } }
    const watch = await openWatch(world, `${nodes}?watch=true&resourceVersion=${list.metadata.resourceVersion}`)
    const revokedAtMs = performance.now()
    await west.ok(`${RBAC}/clusterrolebindings/bob-nodes`, { method: 'DELETE' })
    const last = await watch.ended
    const afterMs = performance.now() - revokedAtMs
    t.diagnostic(`the watch ended ${Math.round(afterMs)} ms after the right was taken away`)
    assert.deepEqual([last?.type, last?.object.code, last?.object.reason], ['ERROR', 410, 'Expired'])
    assert.ok(afterMs < 5_000)

    // The client lists again and is told which cluster is missing; its old version is of no use any more.
    const again = await asBob(nodes)
    assert.deepEqual(await clustersOf(again), ['east'])
    assert.match(String(again.headers['fleetsearch-freshness']), /west;missing/)
    const resumed = await openWatch(world, `${nodes}?watch=true&resourceVersion=${list.metadata.resourceVersion}`)
    assert.equal((await resumed.ended)?.object.code, 410)

    // Given back: the watch ends cleanly, and its resume brings the cluster's objects.
    const partial = (again.json() as { metadata: { resourceVersion: string } }).metadata.resourceVersion
    const narrow = await openWatch(world, `${nodes}?watch=true&resourceVersion=${partial}`)
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'bob-nodes' }
    const body = { metadata: { name: 'bob-nodes' }, roleRef, subjects: [BOB] }
    await west.ok(`${RBAC}/clusterrolebindings`, { body })
    assert.equal(await narrow.ended, undefined)
    const wide = await openWatch(world, `${nodes}?watch=true&resourceVersion=${partial}`)
    await eventually(() => wide.events.length === 4, 'the objects of the other cluster')
    assert.ok(wide.events.every(({ type }) => type === 'ADDED'))
    wide.stop()

    for (const member of [east, west]) await member.ok(`${RBAC}/clusterroles/bob-nodes`, { method: 'DELETE' })
    await eventually(async () => (await status(nodes)) === 403, 'the end of the right')
  })

  test('a page of a list whose clusters may not be seen any more is 410 with a token to go on with', async () => {
    await grant(east, 'bob-classes', '', [{ apiGroups: ['scheduling.k8s.io'], resources: ['*'], verbs: ['list'] }])
    await grant(west, 'bob-classes', '', [{ apiGroups: ['scheduling.k8s.io'], resources: ['*'], verbs: ['list'] }])
    const classes = `${PROXY}/apis/scheduling.k8s.io/v1/priorityclasses`
    await eventually(async () => (await clustersOf(await asBob(classes))).length === 2, 'the right in both members')
    const { metadata } = (await asBob(`${classes}?limit=2`)).json() as { metadata: { continue: string } }
    await west.ok(`${RBAC}/clusterrolebindings/bob-classes`, { method: 'DELETE' })
    await eventually(async () => (await clustersOf(await asBob(classes))).length === 1, 'the end of the right')
    const answer = await asBob(`${classes}?limit=2&continue=${metadata.continue}`)
    assert.equal(answer.status, 410)
    const next = (answer.json() as { metadata: { continue: string } }).metadata.continue
    assert.equal(await status(`${classes}?limit=2&continue=${next}`), 200)
  })

  test('a Role in a namespace shows that Namespace by its own path, as its member does', async () => {
    await grant(east, 'bob-ns2', 'ns2', [reading('namespaces')])
    const path = `${PROXY}/api/v1/namespaces/ns2`
    await eventually(async () => (await status(path)) === 200, 'the right')
    const theirs = await world.theirs(east, bob, '/api/v1/namespaces/ns2')
    assert.equal(theirs.status, 200)
    assert.equal(await status(`${BASE}/proxying/cluster.east/proxy/api/v1/namespaces/ns2`), 200)
    assert.equal(await status(`${BASE}/proxying/cluster.east/proxy/api/v1/namespaces`), 403)
  })
})

async function clustersOf({ status, json }: Awaited<ReturnType<RightsWorld['ours']>>): Promise<string[]> {
  if (status !== 200) return []
  const { items } = json() as { items: { metadata: { annotations: Record<string, string> } }[] }
  return [...new Set(items.map(({ metadata }) => metadata.annotations['cluster.karmada.io/name'] ?? ''))].sort()
}

function openWatch({ service }: RightsWorld, path: string): Promise<WatchEvents> {
  return watchEvents(service.url + path, {
    'x-test-user': encodeURIComponent(bob.name),
    'x-test-groups': encodeURIComponent(JSON.stringify(bob.groups)),
  })
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NODES, PODS, TestFleet } from '../proxy/fleet-fixture.ts'
import { FakeRights, scope } from '../support/fake-rights.ts'
import { withSearch, type Json, type ServedSearch } from './served-search.ts'

const resource = (group: string, version: string, name: string) => ({ group, version, resource: name })
const KINDS = [
  [PODS, 'Pod', true],
  [NODES, 'Node', false],
  [resource('', 'v1', 'services'), 'Service', true],
  [resource('', 'v1', 'configmaps'), 'ConfigMap', true],
  [resource('apps', 'v1', 'deployments'), 'Deployment', true],
  [resource('apps', 'v1', 'replicasets'), 'ReplicaSet', true],
  [resource('networking.k8s.io', 'v1', 'ingresses'), 'Ingress', true],
  [resource('policy.karmada.io', 'v1alpha1', 'propagationpolicies'), 'PropagationPolicy', true],
  [resource('work.karmada.io', 'v1alpha2', 'resourcebindings'), 'ResourceBinding', true],
  [resource('work.karmada.io', 'v1alpha1', 'works'), 'Work', true],
] as const

const labels = { app: 'web' }
const owner = (kind: string, name: string, uid: string) => ({
  ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid }],
})
const object = (name: string, metadata: object, rest: object = {}, namespace = 'shop') => ({
  metadata: { name, namespace, uid: `uid-${name}`, ...metadata },
  ...rest,
})

const KARMADA_MARKS = {
  annotations: {
    'propagationpolicy.karmada.io/namespace': 'shop',
    'propagationpolicy.karmada.io/name': 'spread',
    'resourcebinding.karmada.io/namespace': 'shop',
    'resourcebinding.karmada.io/name': 'web-deployment',
    'work.karmada.io/namespace': 'karmada-es-member1',
    'work.karmada.io/name': 'web-7c9',
  },
}

function shop(): TestFleet {
  const fleet = new TestFleet()
  for (const [gvr, kind, namespaced] of KINDS) fleet.register(gvr, kind, namespaced)
  const put = (cluster: string, kind: string, ...objects: ReturnType<typeof object>[]): void => {
    const [gvr, , namespaced] = KINDS.find(([, each]) => each === kind) ?? KINDS[0]
    fleet.shard(cluster, gvr, kind, namespaced).list(objects, 1)
  }
  const spec = { nodeName: 'n1', containers: [{ name: 'c', envFrom: [{ configMapRef: { name: 'settings' } }] }] }
  put('member1', 'Deployment', object('web', KARMADA_MARKS, { spec: { selector: { matchLabels: labels } } }))
  put('member1', 'ReplicaSet', object('web-1', owner('Deployment', 'web', 'uid-web'), { spec: {} }))
  put(
    'member1',
    'Pod',
    object('web-1-a', { labels, ...owner('ReplicaSet', 'web-1', 'uid-web-1') }, { spec }),
    object('impostor', owner('ReplicaSet', 'web-1', 'uid-of-another'), { spec: {} }),
  )
  put('member1', 'Service', object('web', { uid: 'uid-svc' }, { spec: { selector: labels } }))
  put('member1', 'ConfigMap', object('settings', {}), object('unused', {}))
  const backend = { service: { name: 'web' } }
  put('member1', 'Ingress', object('front', {}, { spec: { rules: [{ http: { paths: [{ backend }] } }] } }))
  fleet.shard('member1', NODES, 'Node', false).list([{ metadata: { name: 'n1', uid: 'n1' } }], 1)
  put('host', 'PropagationPolicy', object('spread', {}))
  const bound = { resource: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' } }
  put(
    'host',
    'ResourceBinding',
    object(
      'web-deployment',
      {
        annotations: {
          'propagationpolicy.karmada.io/namespace': 'shop',
          'propagationpolicy.karmada.io/name': 'spread',
        },
      },
      { spec: { ...bound, clusters: [{ name: 'member1' }] } },
    ),
  )
  const manifest = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: 'shop', name: 'web' } }
  put(
    'host',
    'Work',
    object(
      'web-7c9',
      {
        annotations: {
          'resourcebinding.karmada.io/namespace': 'shop',
          'resourcebinding.karmada.io/name': 'web-deployment',
        },
      },
      { spec: { workload: { manifests: [manifest] } } },
      'karmada-es-member1',
    ),
  )
  return fleet
}

async function related({ json }: ServedSearch, parameters: Record<string, string>): Promise<string[]> {
  const { items } = await json('related', { cluster: 'member1', namespace: 'shop', ...parameters })
  return items.map(
    ({ relation, cluster, kind, name, found }: Json) =>
      `${relation} ${cluster === 'member1' ? '' : `${cluster}/`}${kind}/${name}${found === true ? '' : ' ?'}`,
  )
}

test('owners, owned, selectors, mounts and references, both ways', async () => {
  await withSearch(shop(), async (served) => {
    assert.deepEqual((await related(served, { kind: 'Pod', name: 'web-1-a' })).sort(), [
      'mounts ConfigMap/settings',
      'owner ReplicaSet/web-1',
      'runsOn Node/n1',
      'selectedBy Deployment/web',
      'selectedBy Service/web',
    ])
    assert.deepEqual((await related(served, { kind: 'replicaset', name: 'web-1' })).sort(), [
      'owned Pod/web-1-a',
      'owner Deployment/web',
    ])
    assert.deepEqual(await related(served, { kind: 'ConfigMap', name: 'settings' }), ['mountedBy Pod/web-1-a'])
    assert.deepEqual(await related(served, { kind: 'Node', name: 'n1', namespace: '' }), ['runs Pod/web-1-a'])
    assert.deepEqual(await related(served, { resource: 'services', name: 'web' }), [
      'selects Pod/web-1-a',
      'referredBy Ingress/front',
    ])
    assert.deepEqual(await related(served, { kind: 'ConfigMap', name: 'unused' }), [])
    const two = await related(served, { kind: 'Ingress', name: 'front', depth: '2' })
    assert.deepEqual(two, ['refersTo Service/web', 'selects Pod/web-1-a'])
  })
})

test('from a policy over binding and Work to the objects in members and their pods, and back', async () => {
  await withSearch(shop(), async (served) => {
    const down = await related(served, { cluster: 'host', kind: 'PropagationPolicy', name: 'spread', depth: '3' })
    for (const each of [
      'propagated host/ResourceBinding/web-deployment',
      'propagated Deployment/web',
      'propagated host/Work/web-7c9',
      'owned ReplicaSet/web-1',
      'selects Pod/web-1-a',
    ]) {
      assert.ok(down.includes(each), `${each} in ${down.join(', ')}`)
    }
    const up = await related(served, { kind: 'Deployment', name: 'web' })
    for (const each of [
      'policy host/PropagationPolicy/spread',
      'binding host/ResourceBinding/web-deployment',
      'work host/Work/web-7c9',
    ]) {
      assert.ok(up.includes(each), `${each} in ${up.join(', ')}`)
    }
  })
})

test('I6: what is not there is a 404, an unknown cluster too, what is missing a 400', async () => {
  const fleet = shop()
  await withSearch(fleet, async ({ ask }) => {
    const status = async (parameters: Record<string, string>): Promise<number> =>
      (await ask('related', parameters)).status
    assert.equal(await status({ cluster: 'member1', kind: 'Pod', namespace: 'shop', name: 'nope' }), 404)
    assert.equal(await status({ cluster: 'nope', kind: 'Pod', namespace: 'shop', name: 'web-1-a' }), 404)
    assert.equal(await status({ cluster: 'member1', kind: 'Nothing', name: 'x' }), 404)
    assert.equal(await status({ cluster: 'member1', kind: 'Pod' }), 400)
    assert.equal(await status({ cluster: 'member1', kind: 'Pod', name: 'x', depth: '9' }), 400)
    fleet.shard('member1', PODS).list([], 2)
    assert.equal(await status({ cluster: 'member1', kind: 'Pod', namespace: 'shop', name: 'web-1-a' }), 404)
  })
})

test('nothing of what the caller may not list; what his own objects name is shown as not found', async () => {
  const rights = new FakeRights({ member1: scope(['shop', 'web-1-a', 'front']), host: scope(['other']) })
  await withSearch(
    shop(),
    async (served) => {
      assert.deepEqual((await related(served, { kind: 'Pod', name: 'web-1-a', depth: '3' })).sort(), [
        'mounts ConfigMap/settings ?',
        'owner ReplicaSet/web-1 ?',
        'runsOn Node/n1 ?',
      ])
      assert.equal(
        (await served.ask('related', { cluster: 'member1', kind: 'Deployment', namespace: 'shop', name: 'web' }))
          .status,
        404,
      )
    },
    { rights },
  )
})

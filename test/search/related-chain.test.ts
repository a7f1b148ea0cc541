/** Karmada's chain out of a control plane that is no cluster of its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { chainKindNamed } from '../../src/search/chain-kinds.ts'
import { controlPlanePlaces, ControlPlaneReads } from '../../src/search/control-plane.ts'
import { PODS, TestFleet } from '../proxy/fleet-fixture.ts'
import { answer, FakeControlPlane } from '../support/fake-control-plane.ts'
import { EVERYTHING, FakeRights } from '../support/fake-rights.ts'
import { withSearch, type Json, type ServedSearch } from './served-search.ts'

const DEPLOYMENTS = { group: 'apps', version: 'v1', resource: 'deployments' }
const WORKS = { group: 'work.karmada.io', version: 'v1alpha1', resource: 'works' }
const POLICY_ID = 'propagationpolicy.karmada.io/permanent-id'
const BINDING_ID = 'resourcebinding.karmada.io/permanent-id'
const OVERRIDES = 'policy.karmada.io/applied-overrides'

const byPolicy = {
  'propagationpolicy.karmada.io/namespace': 'shop',
  'propagationpolicy.karmada.io/name': 'spread',
}
const byBinding = {
  'resourcebinding.karmada.io/namespace': 'shop',
  'resourcebinding.karmada.io/name': 'web-deployment',
}
const marks = (cluster: string, work = 'web-7c9') => ({
  ...byPolicy,
  ...byBinding,
  'work.karmada.io/namespace': `karmada-es-${cluster}`,
  'work.karmada.io/name': work,
})

/** `web` in two members, with a pod in each. */
function members(annotations = marks): TestFleet {
  const fleet = new TestFleet()
  for (const cluster of ['member1', 'member2']) {
    const metadata = { name: 'web', namespace: 'shop', uid: `web-${cluster}`, annotations: annotations(cluster) }
    const selector = { matchLabels: { app: 'web' } }
    fleet.shard(cluster, DEPLOYMENTS, 'Deployment', true).list([{ metadata, spec: { selector } }], 1)
    const pod = { name: 'web-a', namespace: 'shop', uid: `pod-${cluster}`, labels: { app: 'web' } }
    fleet.shard(cluster, PODS, 'Pod', true).list([{ metadata: pod }], 1)
  }
  return fleet
}

const bound = (name: string) => ({
  metadata: {
    name,
    namespace: 'shop',
    uid: name,
    annotations: byPolicy,
    labels: { [POLICY_ID]: 'p1', [BINDING_ID]: 'b1' },
  },
  spec: {
    resource: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' },
    clusters: [{ name: 'member1' }, { name: 'member2' }],
  },
})

function controlPlane(): FakeControlPlane {
  const plane = new FakeControlPlane()
  plane.put('propagationpolicies', {
    metadata: { name: 'spread', namespace: 'shop', uid: 'spread', labels: { [POLICY_ID]: 'p1' } },
  })
  plane.put('overridepolicies', { metadata: { name: 'eu', namespace: 'shop', uid: 'eu' } })
  plane.put('resourcebindings', bound('web-deployment'), {
    metadata: { name: 'of-another', namespace: 'shop', uid: 'other', labels: { [POLICY_ID]: 'p2' } },
  })
  for (const cluster of ['member1', 'member2']) {
    const manifest = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: 'shop', name: 'web' } }
    const applied = cluster === 'member1' ? { [OVERRIDES]: '[{"policyName":"eu","overriders":{}}]' } : {}
    const work = {
      metadata: {
        name: 'web-7c9',
        namespace: `karmada-es-${cluster}`,
        uid: `work-${cluster}`,
        labels: { [BINDING_ID]: 'b1' },
        annotations: { ...byBinding, ...applied },
      },
      spec: { workload: { manifests: [manifest] } },
    }
    plane.put('works', work)
  }
  return plane
}

interface Shown {
  readonly items: readonly string[]
  readonly warnings: readonly string[]
  readonly exact: boolean
}

async function related({ json }: ServedSearch, parameters: Record<string, string>): Promise<Shown> {
  const { items, warnings = [], totalIsExact } = await json('related', { namespace: 'shop', ...parameters })
  const shown = items.map(
    ({ depth, relation, cluster, kind, name, found }: Json) =>
      `${depth} ${relation} ${cluster}/${kind}/${name}${found === true ? '' : ' ?'}`,
  )
  return { items: shown.sort(), warnings, exact: totalIsExact }
}

const OBJECT = { cluster: 'member1', kind: 'Deployment', name: 'web' }
const POLICY = { cluster: 'Karmada', kind: 'PropagationPolicy', name: 'spread' }
const UNSEEN = [
  '1 binding /ResourceBinding/web-deployment ?',
  '1 policy /PropagationPolicy/spread ?',
  '1 work /Work/web-7c9 ?',
]
const WITHOUT = [...UNSEEN, '1 selects member1/Pod/web-a'].sort()

test('an object leads back to its Work, binding and policies, all read as the caller', async () => {
  const plane = controlPlane()
  await withSearch(
    members(),
    async (served) => {
      const user = { name: 'jane', uid: 'u1', groups: ['team'], extra: {} }
      served.api.user = user
      const shown = await related(served, { ...OBJECT, depth: '2' })
      assert.deepEqual(shown, {
        items: [
          '1 binding Karmada/ResourceBinding/web-deployment',
          '1 policy Karmada/PropagationPolicy/spread',
          '1 selects member1/Pod/web-a',
          '1 work Karmada/Work/web-7c9',
          '2 policy Karmada/OverridePolicy/eu',
          '2 propagated member2/Deployment/web',
          '2 propagated Karmada/Work/web-7c9',
        ].sort(),
        warnings: [],
        exact: true,
      })
      assert.ok(plane.asked.length > 0)
      assert.ok(plane.asked.every((each) => each.user === user))
    },
    { controlPlane: plane },
  )
})

test('a policy leads over binding and Works to the objects in members and their pods', async () => {
  await withSearch(
    members(),
    async (served) => {
      const { items } = await related(served, { ...POLICY, depth: '2' })
      assert.deepEqual(items, [
        '1 propagated Karmada/ResourceBinding/web-deployment',
        '1 propagated member1/Deployment/web',
        '1 propagated member2/Deployment/web',
        '2 propagated Karmada/Work/web-7c9',
        '2 propagated Karmada/Work/web-7c9',
        '2 selects member1/Pod/web-a',
        '2 selects member2/Pod/web-a',
      ])
      const work = { cluster: 'Karmada', kind: 'works', namespace: 'karmada-es-member2', name: 'web-7c9' }
      assert.deepEqual((await related(served, work)).items, [
        '1 binding Karmada/ResourceBinding/web-deployment',
        '1 propagated member2/Deployment/web',
      ])
    },
    { controlPlane: controlPlane() },
  )
})

test('what a caller may not read he learns neither names nor numbers of', async () => {
  const plane = controlPlane()
  plane.allows = (what) => what === 'propagationpolicies'
  await withSearch(
    members(),
    async (served) => {
      const down = await related(served, { ...POLICY, depth: '3' })
      assert.deepEqual(
        down.items.filter((item) => /Binding|Work/.test(item)).map((item) => item.slice(-2)),
        [' ?', ' ?', ' ?'],
        'no more than the annotations of his own objects',
      )
      assert.deepEqual(down.warnings, ['you may not list resourcebindings.work.karmada.io in the control plane'])
      plane.allows = () => false
      assert.deepEqual((await related(served, OBJECT)).items, WITHOUT)
      assert.equal((await served.ask('related', { ...POLICY, namespace: 'shop' })).status, 404)
    },
    { controlPlane: plane, rights: new FakeRights({ member1: EVERYTHING, member2: EVERYTHING }) },
  )
})

test('Works of which only one cluster’s may be listed are shown for that cluster', async () => {
  const plane = controlPlane()
  plane.allows = (what) => what === 'resourcebindings' || what === 'karmada-es-member2/works'
  await withSearch(
    members(),
    async (served) => {
      const shown = await related(served, { cluster: 'Karmada', kind: 'ResourceBinding', name: 'web-deployment' })
      assert.equal(shown.items.filter((item) => item.includes('/Work/')).length, 1)
      assert.deepEqual(shown.warnings, ['you may not list works.work.karmada.io in the control plane'])
    },
    { controlPlane: plane },
  )
})

const FAULTS = {
  'answered 429': () => Promise.resolve(answer(429, {})),
  'answered 500': () => Promise.resolve(answer(500, {})),
  'answered 401': () => Promise.resolve(answer(401, {})),
  'gave no whole answer': () => Promise.resolve({ status: 200, body: Buffer.from('{"metadata":{"na') }),
  'answered what is no object': () => Promise.resolve({ status: 200, body: Buffer.from('[]') }),
}

for (const [why, fault] of Object.entries(FAULTS)) {
  test(`a control plane that ${why} is asked once, and the answer says what may be missing`, async () => {
    const plane = controlPlane()
    plane.misbehaves = fault
    await withSearch(
      members(),
      async (served) => {
        const warnings = [`the control plane ${why}: policies, bindings and Works may be missing`]
        assert.deepEqual(await related(served, OBJECT), { items: WITHOUT, warnings, exact: false })
        assert.equal(plane.asked.length, 1)
        const csv = await served.ask('related', { ...OBJECT, namespace: 'shop' }, { headers: { accept: 'text/csv' } })
        assert.match(String(csv.headers['warning']), new RegExp(why))
        const start = await served.ask('related', { ...POLICY, namespace: 'shop' })
        assert.equal(start.status, 503, 'nobody knows whether it is there')
      },
      { controlPlane: plane },
    )
  })
}

test('one that hangs is given up after ten seconds, and holds up neither other answers nor leaves timers', async () => {
  const fleet = members()
  const plane = controlPlane()
  plane.misbehaves = (_, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  await withSearch(
    fleet,
    async (served) => {
      const { pending } = fleet.clock
      const hanging: Promise<Shown>[] = []
      for (const name of ['jane', 'joe', 'kim', 'lee']) {
        served.api.user = { name, uid: '', groups: [], extra: {} }
        for (let i = 0; i < 4; i++) hanging.push(related(served, OBJECT))
        while (plane.asked.length < hanging.length) await new Promise(setImmediate)
        const another = await related(served, OBJECT)
        assert.match(another.warnings.join(), /asked by too many/, 'one user has no more than his share')
      }
      served.api.user = { name: 'ann', uid: '', groups: [], extra: {} }
      const other = await related(served, OBJECT)
      assert.match(other.warnings.join(), /asked by too many/)
      assert.equal(plane.asked.length, 16)
      await fleet.clock.advance(10_000)
      for (const shown of await Promise.all(hanging)) {
        assert.deepEqual(shown.items, WITHOUT)
        assert.match(shown.warnings.join(), /took too long/)
      }
      plane.misbehaves = () => undefined
      assert.deepEqual((await related(served, OBJECT)).warnings, [])
      assert.equal(fleet.clock.pending, pending)
    },
    { controlPlane: plane },
  )
})

test('a place is given back when nothing more is read, whatever the walk still does', async () => {
  const plane = controlPlane()
  const { clock } = new TestFleet()
  const places = controlPlanePlaces()
  const user = { name: 'jane', uid: '', groups: [], extra: {} }
  const { signal } = new AbortController()
  const reading = () => new ControlPlaneReads({ plane, places, clock, user, signal })
  const policies = chainKindNamed('propagationpolicy', null) ?? assert.fail()

  const slow = reading()
  assert.ok(await slow.get(policies, 'shop', 'spread'))
  assert.equal(places.now(), 1)
  await clock.advance(10_000)
  assert.equal(places.now(), 0, 'at the deadline, without a read under way')
  assert.ok(slow.isWhole, 'nothing has been left out')
  assert.equal(await slow.get(policies, 'shop', 'spread'), undefined)
  assert.match(slow.warnings.join(), /took too long/)
  assert.equal(plane.asked.length, 1)

  plane.misbehaves = () => Promise.resolve(answer(500, {}))
  const failing = reading()
  await failing.get(policies, 'shop', 'spread')
  assert.equal(places.now(), 0, 'when reads end')
  for (const reads of [slow, failing]) reads.dispose()
  assert.deepEqual([places.now(), clock.pending], [0, 0])
})

test('all bodies of an answer share one bound, and none is read beyond what is left of it', async () => {
  const plane = controlPlane()
  const filler = 'x'.repeat(6 * 1024 * 1024)
  plane.misbehaves = (path) =>
    path.includes('propagationpolicies')
      ? Promise.resolve(answer(200, { metadata: { name: 'spread', namespace: 'shop' }, filler }))
      : Promise.resolve(answer(200, { metadata: {}, items: [], filler: filler + filler }))
  await withSearch(
    members(),
    async (served) => {
      const { warnings, exact } = await related(served, POLICY)
      assert.match(warnings.join(), /has more than is read/)
      assert.equal(exact, false)
      const [first, second] = plane.asked.map(({ maxBytes }) => maxBytes)
      assert.equal(first, 16 * 1024 * 1024)
      assert.ok((second ?? 0) < 10 * 1024 * 1024, `${second}`)
      assert.equal(plane.asked.length, 2)
    },
    { controlPlane: plane },
  )
})

test('why reads got no whole answer is told to whoever runs this, without a word of what was read', async () => {
  const plane = controlPlane()
  const cause = new Error('may not impersonate')
  plane.misbehaves = () => Promise.reject(cause)
  await withSearch(
    members(),
    async (served) => {
      const warnings = ['the control plane gave no whole answer: policies, bindings and Works may be missing']
      assert.deepEqual(await related(served, OBJECT), { items: WITHOUT, warnings, exact: false })
      assert.deepEqual(plane.failures, [cause])
      plane.misbehaves = () => Promise.resolve({ status: 200, body: Buffer.from('{"data":{"password":"aHVu') })
      await related(served, OBJECT)
      assert.doesNotMatch(inspect(plane.failures[1]), /password|aHVu/)
    },
    { controlPlane: plane },
  )
})

test('of a policy with more bindings than are shown, and of one without an id, which is looked for in pages', async () => {
  const plane = controlPlane()
  plane.put('resourcebindings', ...Array.from({ length: 300 }, (_, i) => bound(`b-${i}`)))
  plane.put('propagationpolicies', { metadata: { name: 'old', namespace: 'shop', uid: 'old' } })
  const annotations = { ...byPolicy, 'propagationpolicy.karmada.io/name': 'old' }
  plane.put('resourcebindings', { metadata: { name: 'late', namespace: 'shop', uid: 'late', annotations } })
  await withSearch(
    members(),
    async (served) => {
      const many = await related(served, POLICY)
      assert.equal(many.items.filter((item) => item.includes('Karmada/ResourceBinding')).length, 200)
      assert.deepEqual([many.exact, many.warnings], [false, ['there is more that belongs to it than is shown']])
      const old = await related(served, { ...POLICY, name: 'old' })
      assert.deepEqual(old.items, ['1 propagated Karmada/ResourceBinding/late'])
      plane.put('resourcebindings', ...Array.from({ length: 1_000 }, (_, i) => bound(`c-${i}`)))
      const endless = await related(served, { ...POLICY, name: 'old' })
      assert.equal(endless.exact, false)
      assert.match(endless.warnings.join(), /has more than is read/)
    },
    { controlPlane: plane },
  )
})

test('what a binding belongs to is shown in the control plane, and leads nowhere there', async () => {
  const plane = controlPlane()
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'template' }]
  const binding = bound('owned')
  plane.put('resourcebindings', { ...binding, metadata: { ...binding.metadata, ...{ ownerReferences } } })
  const metadata = { name: 'web', namespace: 'shop', uid: 'template' }
  const spec = { template: { spec: { serviceAccountName: 'robot' } } }
  plane.put('deployments', { metadata, ...{ spec } })
  await withSearch(
    members(),
    async (served) => {
      const start = { cluster: 'Karmada', kind: 'ResourceBinding', name: 'owned', depth: '3' }
      const { items } = await related(served, start)
      assert.ok(items.includes('1 owner Karmada/Deployment/web'), items.join())
      assert.ok(!plane.asked.some(({ path }) => path.includes('serviceaccounts')))
      const paths = plane.asked.map(({ path }) => path).filter((path) => !path.includes('?'))
      assert.deepEqual(paths, [...new Set(paths)], 'no object is asked for twice')
    },
    { controlPlane: plane },
  )
})

test('a cluster of `up` may be called as the control plane is', async () => {
  const fleet = new TestFleet()
  const metadata = { name: 'web', namespace: 'shop', uid: 'web' }
  const selector = { matchLabels: { app: 'web' } }
  fleet.shard('Karmada', DEPLOYMENTS, 'Deployment', true).list([{ metadata, spec: { selector } }], 1)
  const pod = { name: 'web-a', namespace: 'shop', uid: 'pod', labels: { app: 'web' } }
  fleet.shard('Karmada', PODS, 'Pod', true).list([{ metadata: pod }], 1)
  await withSearch(fleet, async (served) => {
    assert.deepEqual((await related(served, { ...OBJECT, cluster: 'Karmada' })).items, ['1 selects Karmada/Pod/web-a'])
  })
})

test('names in annotations lead nowhere else, and another object than was asked for is none', async () => {
  const plane = controlPlane()
  await withSearch(
    members(() => marks('member1/../..', '../secrets/token')),
    async (served) => {
      const { items } = await related(served, OBJECT)
      assert.ok(items.includes('1 work /Work/../secrets/token ?'), items.join())
      assert.ok(plane.asked.every(({ path }) => !/works|\.\./.test(path)))
      plane.misbehaves = () => Promise.resolve(answer(200, { metadata: { name: 'imposed', namespace: 'shop' } }))
      assert.ok((await related(served, OBJECT)).items.every((item) => !item.includes('Karmada/')))
    },
    { controlPlane: plane },
  )
})

test('where Karmada’s kinds are cached nothing is asked, and without a control plane its name is no cluster', async () => {
  const plane = controlPlane()
  const fleet = members()
  fleet.shard('host', WORKS, 'Work', true).list([], 1)
  await withSearch(
    fleet,
    async (served) => {
      assert.deepEqual((await related(served, OBJECT)).items, WITHOUT)
      assert.equal((await served.ask('related', { ...POLICY, namespace: 'shop' })).status, 400)
      assert.equal(plane.asked.length, 0)
    },
    { controlPlane: plane },
  )
  await withSearch(members(), async (served) => {
    assert.deepEqual((await related(served, OBJECT)).items, WITHOUT)
    assert.equal((await served.ask('related', { ...POLICY, namespace: 'shop' })).status, 404)
  })
})

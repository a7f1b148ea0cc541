import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterName } from '../../src/kube/names.ts'
import type { FleetRightsOptions } from '../../src/rights/fleet-rights.ts'
import { QUESTION, RightsFixture } from './world.ts'

const LISTING = { verbs: ['list'], apiGroups: [''], resources: ['pods'] }

async function withRights(
  run: (fixture: RightsFixture) => Promise<void>,
  options: Partial<FleetRightsOptions> = {},
): Promise<void> {
  const fixture = new RightsFixture(options)
  try {
    await run(fixture)
  } finally {
    await fixture.close()
  }
}

test('rights follow the member’s RBAC objects, and listeners hear of it', () =>
  withRights(async (fixture) => {
    const member = await fixture.start('m1', (each) => each.bind('pods', 'bob', LISTING, 'ns1'))
    let heard = 0
    const unlisten = fixture.rights.onChange(() => (heard += 1))
    const { scope } = await fixture.ask(member, { as: 'bob', byObject: true })
    assert.deepEqual([...scope.namespaces], ['ns1'])
    assert.equal(scope.allows('', ''), false)
    member.bind('more', 'bob', LISTING)
    await fixture.until(() => heard > 0)
    assert.equal((await fixture.ask(member, { as: 'bob' })).scope.everything, true)
    const before = heard
    member.fake.delete('ClusterRoleBinding', '', 'more')
    await fixture.until(() => heard > before)
    assert.deepEqual([...(await fixture.ask(member, { as: 'bob' })).scope.namespaces], ['ns1'])
    assert.equal(member.reviews.length, 0)
    unlisten()
  }))

test('a question of a member that has just joined waits for its first lists', () =>
  withRights(async (fixture) => {
    const member = await fixture.prepare('m1')
    member.bind('pods', 'bob', LISTING)
    fixture.engage(member)
    const answer = fixture.ask(member, { as: 'bob' })
    await fixture.until(() => fixture.state(member)?.decides === 'local')
    assert.equal((await answer).scope.everything, true)
    assert.equal(member.reviews.length, 0)
  }))

test('RBAC objects that we may not read: the member itself is asked, answers are remembered for ten seconds', () =>
  withRights(async (fixture) => {
    const member = await fixture.prepare('m1')
    member.fake.misbehave({ on: { resource: 'rolebindings' }, fault: { type: 'status', code: 403 } })
    member.decide = ({ user }) => user === 'bob'
    fixture.engage(member)
    await fixture.until(() => fixture.state(member)?.rbac.state === 'unknown')
    const bobs = await Promise.all([1, 2, 3].map(() => fixture.ask(member, { as: 'bob', namespace: 'ns1' })))
    assert.ok(bobs.every(({ scope }) => scope.allows('ns1', '') && !scope.allows('ns2', '')))
    assert.equal((await fixture.ask(member, { as: 'eve', namespace: 'ns1' })).scope.nothing, true)
    assert.equal(member.reviews.length, 2)
    const [review] = member.reviews
    assert.deepEqual([review?.user, review?.groups], ['bob', ['system:authenticated']])
    member.decide = () => false
    await fixture.clock.advance(10_001)
    assert.equal((await fixture.ask(member, { as: 'bob', namespace: 'ns1' })).scope.nothing, true)
  }))

test('where neither can be had nothing is allowed, and a failure is not remembered', () =>
  withRights(async (fixture) => {
    const member = await fixture.prepare('m1')
    member.fake.misbehave({ on: { resource: 'clusterroles' }, fault: { type: 'status', code: 403 } })
    member.decide = () => 403
    fixture.engage(member)
    await fixture.until(() => fixture.state(member)?.rbac.state === 'unknown')
    const refused = await fixture.ask(member, { as: 'bob' })
    assert.deepEqual([refused.scope.nothing, refused.undetermined], [true, 'it answers reviews with 403'])
    // Not even then is a member of system:masters kept out: no member would.
    const user = { name: 'root', uid: '', groups: ['system:masters'], extra: {} }
    assert.equal((await fixture.ask(member, { as: 'root', user })).scope.everything, true)
    member.decide = () => true
    assert.equal((await fixture.ask(member, { as: 'bob' })).scope.everything, true)
  }))

test('a member that does not decide by RBAC alone is asked, also where RBAC would allow', () =>
  withRights(async (fixture) => {
    const member = await fixture.prepare('m1')
    member.bind('pods', 'bob', LISTING, 'ns1')
    member.bind('pods2', 'bob', LISTING, 'ns2')
    member.incomplete = true
    member.decide = ({ resourceAttributes: { namespace } }) => namespace === 'ns2' || namespace === 'ns3'
    fixture.engage(member)
    await fixture.until(() => fixture.state(member)?.authorizer === 'other')
    await fixture.until(() => fixture.state(member)?.rbac.state === 'known')
    assert.equal(fixture.state(member)?.decides, 'reviews')
    // What the webhook denies is denied; what it adds is found where the request names it.
    assert.equal((await fixture.ask(member, { as: 'bob', namespace: 'ns1' })).scope.nothing, true)
    assert.equal((await fixture.ask(member, { as: 'bob', namespace: 'ns3' })).scope.allows('ns3', ''), true)
    // A filter of objects is tried with what RBAC alone would say.
    const { scope } = await fixture.ask(member, { as: 'bob', byObject: true })
    assert.deepEqual([...scope.namespaces], ['ns2'])
  }))

test('a member that lets strangers in does not decide by RBAC', () =>
  withRights(async (fixture) => {
    const member = await fixture.prepare('m1')
    member.strangersAllowed = true
    fixture.engage(member)
    await fixture.until(() => fixture.state(member)?.authorizer === 'other')
  }))

test('a member that is away is judged by what was last heard, as its objects are', () =>
  withRights(async (fixture) => {
    const member = await fixture.start('m1', (each) => each.bind('pods', 'bob', LISTING))
    await member.fake.stop()
    await fixture.until(() => fixture.state(member)?.rbac.state === 'stale')
    await fixture.clock.advance(600_000)
    assert.deepEqual([fixture.state(member)?.decides, fixture.state(member)?.rbac.state], ['local', 'stale'])
    assert.equal((await fixture.ask(member, { as: 'bob' })).scope.everything, true)
    await member.fake.start()
    await fixture.until(() => fixture.state(member)?.rbac.state === 'known')
  }))

test('a member that answers with errors is believed for half a minute, then asked', () =>
  withRights(async (fixture) => {
    const member = await fixture.start('m1', (each) => each.bind('pods', 'bob', LISTING))
    const lift = member.fake.misbehave({ on: { resource: 'clusterroles' }, fault: { type: 'status', code: 403 } })
    member.fake.endWatches('clusterroles')
    await fixture.until(() => fixture.state(member)?.rbac.state === 'stale')
    assert.equal(fixture.state(member)?.decides, 'local')
    let ticks = 0
    const unlisten = fixture.rights.onChange(() => (ticks += 1))
    await fixture.clock.advance(31_000)
    assert.deepEqual([fixture.state(member)?.rbac.state, fixture.state(member)?.decides], ['unknown', 'reviews'])
    assert.ok(ticks >= 5, 'watches are looked at every few seconds while nobody tells of changes')
    assert.equal((await fixture.ask(member, { as: 'bob' })).scope.nothing, true)
    lift()
    await fixture.until(() => fixture.state(member)?.decides === 'local')
    unlisten()
  }))

test('a member with more RBAC objects than are kept is asked', () =>
  withRights(
    async (fixture) => {
      const member = await fixture.prepare('m1')
      for (let i = 0; i < 30; i++) member.bind(`b${i}`, 'bob', LISTING)
      fixture.engage(member)
      await fixture.until(() => fixture.state(member)?.rbac.state === 'unknown')
      assert.equal(fixture.state(member)?.decides, 'reviews')
    },
    { maxObjects: 20 },
  ))

test('an RBAC object that cannot be read makes rights unknown instead of leaving old ones', () =>
  withRights(async (fixture) => {
    const member = await fixture.prepare('m1')
    const body = { kind: 'RoleBindingList', apiVersion: 'v1', metadata: { resourceVersion: '7' }, items: [{ spec: 1 }] }
    const fault = { type: 'body', text: JSON.stringify(body) } as const
    member.fake.misbehave({ on: { resource: 'rolebindings', watch: false }, fault })
    fixture.engage(member)
    await fixture.until(() => fixture.state(member)?.rbac.state === 'unknown')
  }))

test('different questions to one member at once are bounded', () =>
  withRights(async (fixture) => {
    const member = await fixture.prepare('m1')
    member.incomplete = true
    const { promise, resolve } = Promise.withResolvers<boolean>()
    member.decide = () => promise
    fixture.engage(member)
    await fixture.until(() => fixture.state(member)?.authorizer === 'other')
    const asked = Array.from({ length: 300 }, (_, i) => fixture.ask(member, { as: 'bob', namespace: `ns${i}` }))
    await fixture.until(() => member.reviews.length > 0)
    resolve(true)
    const answers = await Promise.all(asked)
    const refused = answers.filter(({ undetermined }) => undetermined === 'too many questions at once')
    assert.deepEqual([member.reviews.length, refused.length], [256, 44])
  }))

test('a caller without a name sees nothing; a cluster that left shows nothing', () =>
  withRights(async (fixture) => {
    const member = await fixture.start('m1', (each) => each.bind('pods', '', LISTING))
    assert.equal((await fixture.ask(member, { as: '' })).scope.nothing, true)
    fixture.fleet.disengage(member.name, 'left')
    const gone = await fixture.ask(member, { as: 'bob' })
    assert.deepEqual([gone.scope.nothing, gone.undetermined], [true, 'it is no cluster of the fleet'])
    const none = await fixture.rights.of(
      { ...QUESTION, user: { name: 'bob', uid: '', groups: [], extra: {} } },
      ['never' as ClusterName],
      AbortSignal.timeout(1_000),
    )
    assert.equal(none.size, 1)
  }))

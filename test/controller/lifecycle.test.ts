/** Registries and clusters that come, go, flap and are replaced, seen through the cache. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WatchItem } from '../../src/cache/reader.ts'
import { customType } from '../support/fake-member.ts'
import { settle } from '../support/fake-clock.ts'
import { everything, pods, registry } from './fixture.ts'
import { World, pod } from './world.ts'

const PODS = { group: '', resource: 'pods' }

/** What a watch from now on delivers: `ADDED default/web-0`, `EXPIRED`. */
function watchPods(world: World, from?: 'now'): { readonly seen: string[]; stop(): void } {
  const reader = world.cache.resource(PODS) ?? assert.fail('pods are not registered')
  const abort = new AbortController()
  const seen: string[] = []
  const take = (item: WatchItem): void => {
    if (item.type === 'EVENT') seen.push(`${item.event.type} ${item.event.object.namespace}/${item.event.object.name}`)
    if (item.type === 'EXPIRED') seen.push('EXPIRED')
  }
  const options = from === 'now' ? { from: reader.versions() } : {}
  void (async () => {
    for await (const items of reader.watch({ ...options, signal: abort.signal })) items.forEach(take)
    seen.push('END')
  })()
  return {
    seen,
    stop: () => {
      abort.abort()
    },
  }
}

test('what registries select of every cluster is cached and followed', async () => {
  await using world = new World()
  const [one, two] = [await world.member({ objects: [pod('a')] }), await world.member({ objects: [pod('b')] })]
  world.registries.set(registry('rr', [pods()]))
  world.join('m1', one)
  world.join('m2', two)
  await world.shows('pods', ['m1/default/a', 'm2/default/b'])
  one.put(pod('c'))
  two.delete('Pod', 'default', 'b')
  await world.shows('pods', ['m1/default/a', 'm1/default/c'])
  assert.equal(world.controller.progress().settled, true)
  assert.equal(one.requested({ resource: 'pods', watch: false }).length, 1)
})

test('C1: clusters that join later or gain the label are cached, and leave the answers when they lose it', async () => {
  await using world = new World()
  const [late, ghost, relabelled] = await Promise.all(
    ['late', 'ghost', 'x'].map((name) => world.member({ objects: [pod(name)] })),
  )
  world.registries.set(
    registry('label', [pods()], { labelSelector: { matchExpressions: [{ key: 'managed', operator: 'Exists' }] } }),
    registry('ghost', [pods()], { clusterNames: ['ghost'] }),
  )
  const managed = { labels: { managed: 'yes' } }
  assert.ok(late !== undefined && ghost !== undefined && relabelled !== undefined)
  world.join('x', relabelled)
  world.join('late', late, managed)
  await world.shows('pods', ['late/default/late'])
  world.fleet.update({ ...(world.fleet.members()[1]?.facts ?? assert.fail()), ...managed })
  await world.shows('pods', ['late/default/late', 'x/default/x'])
  world.join('ghost', ghost)
  await world.shows('pods', ['ghost/default/ghost', 'late/default/late', 'x/default/x'])
  const late_ = world.fleet.members().find(({ facts }) => facts.name === 'late') ?? assert.fail()
  world.fleet.update({ ...late_.facts, labels: {} })
  await settle()
  assert.deepEqual(world.objects('pods'), ['ghost/default/ghost', 'x/default/x'])
  await late.until(() => late.watches('pods').length === 0)
})

test('C3: namespaces of several registries are united, widened and narrowed, and a watch of one is not disturbed', async () => {
  await using world = new World()
  const objects = [pod('a', 'ns1'), pod('b', 'ns2'), pod('c', 'ns3')]
  const member = await world.member({ objects })
  const [one, two, all] = [registry('1', [pods('ns1')]), registry('2', [pods('ns2')]), registry('3', [pods()])]
  world.registries.set(one)
  world.join('m', member)
  await world.shows('pods', ['m/ns1/a'])
  assert.match(member.requested({ resource: 'pods' })[0]?.path ?? '', /\/namespaces\/ns1\/pods$/)
  const watch = watchPods(world, 'now')

  world.registries.set(one, two)
  await world.shows('pods', ['m/ns1/a', 'm/ns2/b'])
  world.registries.set(one, two, all)
  await world.shows('pods', ['m/ns1/a', 'm/ns2/b', 'm/ns3/c'])
  member.put(pod('a2', 'ns1'))
  await world.shows('pods', ['m/ns1/a', 'm/ns1/a2', 'm/ns2/b', 'm/ns3/c'])

  const lists = member.requested({ resource: 'pods', watch: false }).length
  world.registries.set(two, one)
  await settle()
  assert.deepEqual(world.objects('pods'), ['m/ns1/a', 'm/ns1/a2', 'm/ns2/b'])
  member.put(pod('ignored', 'ns3'))
  member.put(pod('a3', 'ns1'))
  await world.shows('pods', ['m/ns1/a', 'm/ns1/a2', 'm/ns1/a3', 'm/ns2/b'])
  assert.equal(member.requested({ resource: 'pods', watch: false }).length, lists, 'narrowing needs no list')

  world.registries.set(two)
  await world.shows('pods', ['m/ns2/b'])
  watch.stop()
  await settle()
  assert.deepEqual(
    watch.seen.filter((item) => item.includes('ns1') || item === 'EXPIRED'),
    ['ADDED ns1/a2', 'ADDED ns1/a3', 'DELETED ns1/a', 'DELETED ns1/a2', 'DELETED ns1/a3'],
  )
  world.registries.set()
  await settle()
  assert.equal(world.cache.resource(PODS), undefined)
})

test('C4: a cluster replaced under its name is served from the new one alone', async () => {
  await using world = new World()
  const old = await world.member({ objects: [pod('old')], startVersion: 100_000 })
  const fresh = await world.member({ objects: [pod('new')], startVersion: 5 })
  world.registries.set(registry('rr', [pods()]))
  world.join('m', old, { uid: 'u1' })
  await world.shows('pods', ['m/default/old'])
  const watch = watchPods(world, 'now')
  world.leave('m')
  world.join('m', fresh, { uid: 'u2' })
  await settle(1)
  assert.ok(!world.objects('pods').includes('m/default/old'), 'nothing of the old one is served')
  await world.shows('pods', ['m/default/new'])
  assert.equal(world.shard('m', 'pods')?.clusterUid, 'u2')
  assert.equal(watch.seen[0], 'EXPIRED')
  old.requests.length = 0
  await world.clock.advance(120_000)
  assert.equal(old.requests.length, 0, 'the old one is never asked again')
})

test('a cluster reached anew under its uid keeps what it showed until it is listed again', async () => {
  await using world = new World()
  const [before, after] = [await world.member({ objects: [pod('a')] }), await world.member({ objects: [pod('a')] })]
  world.registries.set(registry('rr', [pods()]))
  world.join('m', before)
  await world.shows('pods', ['m/default/a'])
  after.misbehave({ on: { resource: 'pods' }, times: 1, fault: { type: 'slow', ms: 3_000 } })
  world.join('m', after)
  await world.clock.advance(1_000)
  assert.deepEqual(world.objects('pods'), ['m/default/a'])
  after.put(pod('b'))
  await world.shows('pods', ['m/default/a', 'm/default/b'])
  await before.until(() => before.watches().length === 0)
})

test('a cluster that flaps does not start a reflector more', async () => {
  await using world = new World()
  const member = await world.member({ objects: [pod('a')] })
  world.registries.set(registry('rr', [pods()]))
  world.join('m', member)
  await world.shows('pods', ['m/default/a'])
  const [engaged] = world.fleet.members()
  for (let i = 0; i < 20; i++) {
    world.fleet.update({ ...(engaged ?? assert.fail()).facts, ready: i % 2 === 1 })
    await world.clock.advance(500)
  }
  assert.equal(member.requested({ resource: 'pods' }).length, 2, 'one list, one watch')
  assert.deepEqual(world.objects('pods'), ['m/default/a'])
})

test('B4: registered decides, also when the last cluster goes: empty, not unknown', async () => {
  await using world = new World()
  const member = await world.member({ objects: [pod('a')] })
  world.registries.set(registry('rr', [everything]))
  world.join('m', member)
  await world.shows('pods', ['m/default/a'])
  world.leave('m')
  await settle()
  assert.deepEqual(world.objects('pods'), [])
  assert.notEqual(world.cache.resource(PODS), undefined)
  world.join('m', member)
  await world.shows('pods', ['m/default/a'])
})

test('a dead member is shown as missing, bounded in requests, and cached when it comes', async () => {
  await using world = new World()
  const [live, dead] = [await world.member({ objects: [pod('a')] }), await world.member({ objects: [pod('b')] })]
  await dead.stop()
  world.registries.set(registry('rr', [everything]))
  world.join('dead', dead)
  world.join('live', live)
  await world.shows('pods', ['live/default/a'])
  await world.until(() => world.controller.progress().settled)
  const shard = world.shard('dead', 'pods')
  assert.equal(shard?.synced, false)
  assert.ok(shard.reflector.phase === 'failing' && shard.reflector.code === 'refused', JSON.stringify(shard))
  assert.deepEqual(world.controller.progress().undiscovered, ['dead'])
  await world.clock.advance(600_000)
  await dead.start()
  await world.until(() => world.objects('pods').includes('dead/default/b'), 120_000)
  assert.equal(world.shard('dead', 'pods')?.synced, true)
})

const FOO = customType('Foo')
const foo = (name: string) => ({ apiVersion: 'example.io/v1', kind: 'Foo', metadata: { name, namespace: 'default' } })
const foos = registry('rr', [{ apiVersion: 'example.io/v1', kind: 'Foo' }, pods()])

test('C6: a kind that one member lacks is not asked of it, incomplete discovery loses nothing, and it is found later', async () => {
  await using world = new World()
  const has = await world.member({ extraTypes: [FOO], objects: [foo('a')] })
  const lacks = await world.member({ objects: [pod('p')] })
  world.registries.set(foos)
  world.join('m1', has)
  world.join('m2', lacks)
  await world.shows('foos', ['m1/default/a'], 'example.io')
  await world.shows('pods', ['m2/default/p'])
  await world.clock.advance(300_000)
  assert.equal(lacks.requested({ resource: 'foos' }).length, 0)

  // Discovery fails in both, whole and by group: what is cached stays, and no reflector starts again.
  has.requests.length = 0
  const lift = [has, lacks].map((member) =>
    member.misbehave({ on: { path: /^\/apis/ }, fault: { type: 'status', code: 503 } }),
  )
  await world.clock.advance(60_000)
  assert.deepEqual(world.objects('foos', 'example.io'), ['m1/default/a'])
  assert.equal(has.requested({ resource: 'foos', watch: false }).length, 0)
  for (const each of lift) each()

  lacks.addType(FOO)
  lacks.put(foo('b'))
  await world.shows('foos', ['m1/default/a', 'm2/default/b'], 'example.io')
})

test('a CRD that goes takes its objects with it, and comes back with new ones', async () => {
  await using world = new World()
  const member = await world.member({ extraTypes: [FOO], objects: [foo('a'), pod('p')] })
  world.registries.set(foos)
  world.join('m', member)
  await world.shows('foos', ['m/default/a'], 'example.io')
  await world.shows('pods', ['m/default/p'])
  member.requests.length = 0
  member.removeType(FOO)
  await world.shows('foos', [], 'example.io')
  await world.until(() => world.shard('m', 'foos', 'example.io') === undefined)
  const asked = member.requested({ resource: 'foos' }).length
  await world.clock.advance(120_000)
  assert.equal(member.requested({ resource: 'foos' }).length, asked, 'nothing asks for what is gone')
  assert.ok(asked <= 4, `${asked} requests`)
  member.addType(FOO)
  member.put(foo('b'))
  await world.shows('foos', ['m/default/b'], 'example.io')
  assert.equal(member.requested({ resource: 'pods', watch: false }).length, 0, 'other kinds are left alone')
})

test('a CRD deleted and made again at once is listed again within seconds, not after the slow retry', async () => {
  await using world = new World()
  const member = await world.member({ extraTypes: [FOO], objects: [foo('a')] })
  world.registries.set(foos)
  world.join('m', member)
  await world.shows('foos', ['m/default/a'], 'example.io')
  await world.clock.advance(20_000)
  member.removeType(FOO)
  await member.until(() => member.requested({ resource: 'foos' }).length >= 3, 'the refused watch')
  member.addType(FOO)
  member.put(foo('b'))
  const startedMs = world.clock.monotonicMs()
  await world.shows('foos', ['m/default/b'], 'example.io')
  const tookMs = world.clock.monotonicMs() - startedMs
  assert.ok(tookMs <= 15_000, `${tookMs} ms`)
})

test('everything ends within bounded time after the signal, and asks nothing more', async () => {
  await using world = new World()
  const member = await world.member({ objects: [pod('a')] })
  world.registries.set(registry('rr', [everything]))
  world.join('m', member)
  await world.until(() => world.controller.progress().settled)
  assert.ok(world.controller.progress().shards > 10)
  member.misbehave({ fault: { type: 'stall' } })
  await world.stop()
  await member.until(() => member.watches().length === 0)
  assert.deepEqual(world.objects('pods'), ['m/default/a'], 'what is cached stays readable')
  member.requests.length = 0
  await world.clock.advance(300_000)
  assert.equal(member.requests.length, 0)
})

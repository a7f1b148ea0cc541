/** Members that forbid lists over all namespaces. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pods, registry } from './fixture.ts'
import { settle } from '../support/fake-clock.ts'
import type { FakeMember } from '../support/fake-member.ts'
import { World, pod } from './world.ts'

/** 403 for pods over all namespaces and in those named. Returns how to lift it. */
function forbid(member: FakeMember, ...namespaces: string[]): () => void {
  const paths = ['/api/v1/pods', ...namespaces.map((namespace) => `/api/v1/namespaces/${namespace}/pods`)]
  return member.misbehave({
    on: { resource: 'pods', where: ({ path }) => paths.includes(path) },
    fault: { type: 'status', code: 403 },
  })
}

const two = registry('rr', [pods('a'), pods('b')])
/** A member with a pod in each of `a`, `b` and `c` that forbids the list of all; what is registered of it is shown. */
async function listedOneByOne(world: World): Promise<FakeMember> {
  const member = await world.member({ objects: [pod('x', 'a'), pod('y', 'b'), pod('z', 'c')] })
  forbid(member)
  world.registries.set(two)
  world.join('m', member)
  await world.shows('pods', ['m/a/x', 'm/b/y'])
  return member
}

const collection = (member: FakeMember): number => member.requested({ path: '/api/v1/pods' }).length

test('each registered namespace is listed by itself, shown together, and followed', async () => {
  await using world = new World()
  const member = await listedOneByOne(world)
  assert.equal(world.shard('m', 'pods')?.synced, true)
  assert.equal(collection(member), 1)
  member.put(pod('x2', 'a'))
  member.delete('Pod', 'b', 'y')
  member.put(pod('z2', 'c'))
  await world.shows('pods', ['m/a/x', 'm/a/x2'])
  await world.until(() => world.shard('m', 'pods')?.reflector.phase === 'watching')
  assert.equal(member.watches('pods').length, 2)
})

test('the shard stands at the smallest version of its namespaces, so that a watch from there misses nothing', async () => {
  await using world = new World()
  const member = await world.member({ objects: [pod('x', 'a'), pod('y', 'b')] })
  forbid(member)
  world.registries.set(two)
  world.join('m', member)
  await world.until(() => member.watches('pods').length === 2)
  const start = world.shard('m', 'pods')?.version
  member.put(pod('x2', 'a'))
  await world.shows('pods', ['m/a/x', 'm/a/x2', 'm/b/y'])
  assert.equal(world.shard('m', 'pods')?.version, start, 'namespace b still stands there')
  member.bookmark('pods')
  await world.until(() => world.shard('m', 'pods')?.version === member.version)
})

test('a broken watch of one namespace resumes where it was: nothing twice, nothing lost, no list', async () => {
  await using world = new World()
  const member = await world.member({ objects: [pod('x', 'a'), pod('y', 'b')] })
  forbid(member)
  world.registries.set(two)
  world.join('m', member)
  await world.until(() => member.watches('pods').length === 2)
  for (let i = 0; i < 5; i++) member.put(pod(`x${i}`, 'a'))
  await world.until(() => world.objects('pods').length === 7)
  const changes: string[] = []
  world.cache.onChange({ changed: (_resource, _cluster, namespace, name) => changes.push(`${namespace}/${name}`) })
  const lists = member.requested({
    resource: 'pods',
    watch: false,
    where: ({ url }) => !url.includes('limit=1'),
  }).length
  await world.clock.advance(20_000)
  member.cutWatches('pods', '{"type":"ADD')
  member.put(pod('y2', 'b'))
  await world.until(() => world.objects('pods').includes('m/b/y2'))
  await world.until(() => member.watches('pods').length === 2)
  assert.deepEqual(changes, ['b/y2'])
  const later = member.requested({
    resource: 'pods',
    watch: false,
    where: ({ url }) => !/limit=1(&|$)/.test(url),
  }).length
  assert.equal(later, lists)
})

test('a namespace that is forbidden too does not hold back the others, and is told', async () => {
  await using world = new World()
  const member = await world.member({ objects: [pod('x', 'a'), pod('y', 'b')] })
  const lift = forbid(member, 'b')
  world.registries.set(two)
  world.join('m', member)
  await world.shows('pods', ['m/a/x'])
  const { reflector } = world.shard('m', 'pods') ?? assert.fail()
  assert.ok(reflector.phase === 'failing' && reflector.code === 'forbidden' && /^namespace b: /.test(reflector.message))
  member.put(pod('x2', 'a'))
  await world.shows('pods', ['m/a/x', 'm/a/x2'])
  lift()
  await world.until(() => world.objects('pods').includes('m/b/y'), 120_000)
  await world.until(() => world.shard('m', 'pods')?.reflector.phase === 'watching')
})

test('rights that are taken away under way lead there too, and what is shown stays meanwhile', async () => {
  await using world = new World()
  const member = await world.member({ objects: [pod('x', 'a'), pod('y', 'b')] })
  world.registries.set(two)
  world.join('m', member)
  await world.shows('pods', ['m/a/x', 'm/b/y'])
  await world.clock.advance(20_000)
  forbid(member)
  member.endWatches('pods')
  const seen = new Set<string>()
  await world.until(() => {
    seen.add(world.objects('pods').join())
    return member.watches('pods').length === 2
  })
  assert.deepEqual([...seen], ['m/a/x,m/b/y'])
})

test('namespaces are added and taken while each is listed by itself', async () => {
  await using world = new World()
  const member = await listedOneByOne(world)
  world.registries.set(two, registry('more', [pods('c')]))
  await world.shows('pods', ['m/a/x', 'm/b/y', 'm/c/z'])
  world.registries.set(registry('less', [pods('b')]))
  await settle()
  assert.deepEqual(world.objects('pods'), ['m/b/y'])
  await world.until(() => member.watches('pods').length === 1)
  assert.equal(collection(member), 1, 'the forbidden list is not tried again')
})

test('all namespaces cannot be had one by one: the refusal is told, and retried slowly', async () => {
  await using world = new World()
  const member = await world.member({ objects: [pod('x', 'a')] })
  forbid(member)
  world.registries.set(registry('rr', [pods()]))
  world.join('m', member)
  await world.until(() => world.shard('m', 'pods')?.reflector.phase === 'failing')
  await world.clock.advance(600_000)
  assert.ok(collection(member) < 12, `${collection(member)} lists in ten minutes`)
})

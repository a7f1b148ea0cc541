import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unreachableClient } from '../../src/fleet/member-client.ts'
import { customType } from '../support/fake-member.ts'
import { settle } from '../support/fake-clock.ts'
import { facts } from '../support/cluster-facts.ts'
import { World } from './world.ts'

const roots = ({ path }: { path: string }): boolean => path === '/api' || path === '/apis'

test('an unchanged member is asked every 10 s, and answers without a body', async () => {
  await using world = new World()
  const member = await world.member()
  world.join('m', member)
  await world.until(() => member.requested({ path: '/apis' }).length === 1)
  await world.clock.advance(95_000)
  await settle()
  const asked = member.requested({ path: '/apis' })
  assert.ok(asked.length >= 8 && asked.length <= 12, `${asked.length} questions`)
  assert.ok(asked.slice(1).every(({ headers }) => headers['if-none-match'] !== undefined))
})

test('a member that fails is asked more and more slowly, and told about once', async () => {
  await using world = new World()
  const member = await world.member()
  member.misbehave({ on: { where: roots }, fault: { type: 'status', code: 503 } })
  const told: string[] = []
  world.discovery.onChange((cluster) => told.push(cluster))
  world.join('m', member)
  await world.until(() => world.discovery.failure(facts('m')) !== undefined)
  await world.clock.advanceUntil(() => world.clock.monotonicMs() > 600_000, 500, 700_000)
  const asked = member.requested({ path: '/apis' }).length
  assert.ok(asked <= 25, `${asked} questions in ten minutes`)
  assert.deepEqual(told, ['m'])
  assert.equal(world.discovery.resources(facts('m')), undefined)
  member.behave()
  await world.until(() => world.discovery.resources(facts('m')) !== undefined, 120_000)
  assert.deepEqual(told, ['m', 'm'])
  assert.equal(world.discovery.failure(facts('m')), undefined)
})

test('a member without a way to reach it costs nothing until its facts change', async () => {
  await using world = new World()
  let asked = 0
  const client = unreachableClient('cluster has no apiEndpoint')
  world.fleet.engage(facts('m', { unreachable: 'cluster has no apiEndpoint' }), {
    ...client,
    request: (request) => {
      asked += 1
      return client.request(request)
    },
  })
  await world.until(() => world.discovery.failure(facts('m')) !== undefined)
  assert.deepEqual(world.discovery.failure(facts('m')), {
    code: 'unreachable',
    message: 'cluster has no apiEndpoint',
  })
  asked = 0
  await world.clock.advance(600_000)
  assert.ok(asked <= 20, `${asked} questions in ten minutes`)
})

test('refresh asks ahead of time, but not more often than every 2 s, and calls back with the answer', async () => {
  await using world = new World()
  const member = await world.member()
  world.join('m', member)
  await world.until(() => member.requested({ path: '/apis' }).length === 1)
  await world.clock.advance(3_000)
  let answered = 0
  for (let i = 0; i < 20; i++) world.discovery.refresh(facts('m').name, () => answered++)
  await world.clock.advance(600)
  await world.until(() => answered === 20)
  assert.equal(member.requested({ path: '/apis' }).length, 2)
  for (let i = 0; i < 20; i++) world.discovery.refresh(facts('m').name)
  await world.clock.advance(1_000)
  assert.equal(member.requested({ path: '/apis' }).length, 2)
  await world.until(() => member.requested({ path: '/apis' }).length === 3)
})

test('an answer that names nothing at all is a failure, not the end of everything', async () => {
  await using world = new World()
  const member = await world.member()
  world.join('m', member)
  await world.until(() => world.discovery.resources(facts('m')) !== undefined)
  const before = world.discovery.resources(facts('m'))
  const empty = '{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[]}'
  member.misbehave({ on: { where: roots }, fault: { type: 'body', text: empty } })
  await world.until(() => world.discovery.failure(facts('m')) !== undefined)
  await world.clock.advance(60_000)
  assert.equal(world.discovery.resources(facts('m')), before)
})

test('another uid under the same name knows nothing of the old one; what was ever served stays known', async () => {
  await using world = new World()
  const foos = customType('Foo')
  const [old, fresh] = [await world.member({ extraTypes: [foos] }), await world.member()]
  world.join('m', old, { uid: 'u1' })
  await world.until(() => world.discovery.resources(facts('m', { uid: 'u1' })) !== undefined)
  world.leave('m')
  world.join('m', fresh, { uid: 'u2' })
  assert.equal(world.discovery.resources(facts('m', { uid: 'u2' })), undefined)
  assert.equal(world.discovery.resources(facts('m', { uid: 'u1' })), undefined)
  await world.until(() => world.discovery.resources(facts('m', { uid: 'u2' })) !== undefined)
  const { known } = world.discovery
  assert.equal(known.has({ group: 'example.io', version: 'v1', resource: 'foos' }), true)
  assert.equal(known.has({ group: 'example.io', version: '', resource: 'foos' }), true)
  assert.equal(known.has({ group: 'example.io', version: 'v2', resource: 'foos' }), false)
  assert.equal(known.has({ group: '', version: 'v1', resource: 'foos' }), false)
})

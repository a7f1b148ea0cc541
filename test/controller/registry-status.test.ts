import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Condition, ResourceRegistry } from '../../src/api/resource-registry.ts'
import type { CachedShard } from '../../src/controller/cluster-lag.ts'
import { registryConditions, type ConditionsInput } from '../../src/controller/registry-conditions.ts'
import { RegistryStatusWriter } from '../../src/controller/registry-status-writer.ts'
import { cachedShards } from '../../src/app/registry-stats.ts'
import { StatusError } from '../../src/kube/status-error.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { everything, planned, pods, registry } from './fixture.ts'
import { World, pod } from './world.ts'

type Shard = ConditionsInput['shards'][number]

const shard = (cluster: string, more: Partial<Shard> = {}): Shard => ({
  planned: planned(cluster, 'pods'),
  synced: true,
  failure: undefined,
  leftOut: 0,
  ...more,
})
const refused = { phase: 'failing', code: 'refused', message: 'connection refused' } as const

const cached = (): CachedShard => ({ objects: 21, heardAtMs: 200_000 })

function conditions(input: Partial<ConditionsInput>): string[] {
  const now = '2026-11-30T00:00:00Z'
  const plan = { targets: new Map(), problems: [] }
  const defaults = { registry: registry('rr', [pods()]), plan, shards: [], now, nowMs: 600_000, cached }
  return registryConditions({ ...defaults, ...input }).map(
    ({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`,
  )
}

test('Ready says whether all has been listed, Synced whether it is followed', () => {
  assert.deepEqual(conditions({ shards: [shard('a'), shard('b')] }), [
    'Ready=True Listed: 2 resources in 2 clusters are cached, 42 objects',
    'Synced=True Followed: a: 1 resource, 21 objects, current; b: 1 resource, 21 objects, current',
  ])
  assert.deepEqual(conditions({ shards: [shard('a'), shard('b', { synced: false })] }), [
    'Ready=False Listing: not listed yet: b',
    'Synced=False Listing: b: 1 resource, 21 objects, 1 not listed yet, current; a: 1 resource, 21 objects, current',
  ])
  assert.deepEqual(conditions({ shards: [shard('a'), shard('b', { failure: refused })] }), [
    'Ready=True Listed: 2 resources in 2 clusters are cached, 42 objects',
    'Synced=False ClustersFail: b: 1 resource, 21 objects, more than 5 minutes behind (v1/pods: refused); a: 1 resource, 21 objects, current',
  ])
  assert.deepEqual(conditions({ shards: [shard('a'), shard('b', { leftOut: 2 })] }), [
    'Ready=True Listed: 2 resources in 2 clusters are cached, 42 objects',
    'Synced=False ObjectsLeftOut: b: 1 resource, 21 objects, 2 left out that could not be read, current; a: 1 resource, 21 objects, current',
  ])
})

test('problems of the plan are named, and a fleet that fails as a whole stays readable', () => {
  const problems = ['Foo', 'Bar'].map((kind) => ({
    registry: 'rr',
    reason: 'NotServed' as const,
    message: `no matching cluster serves ${kind} of v1`,
  }))
  const other = { registry: 'other', reason: 'NoClusterMatches', message: 'not ours' } as const
  const [ready] = conditions({ plan: { targets: new Map(), problems: [...problems, other] } })
  assert.equal(
    ready,
    'Ready=False NotServed: no matching cluster serves Foo of v1; no matching cluster serves Bar of v1',
  )
  const many = Array.from({ length: 100 }, (_, i) => shard(`c${i}`, { failure: refused }))
  assert.ok((conditions({ shards: many })[1] ?? '').length < 500)
  const long = Array.from({ length: 9 }, (_, i) => shard(`${'c'.repeat(240)}${i}`, { failure: refused }))
  assert.ok((conditions({ shards: long })[1] ?? '').length < 1_100)
})

test('the time of a condition is that of its last change of status; conditions of others are kept', () => {
  const foreign = { type: 'BackendHealthy', status: 'True', lastTransitionTime: 'x', reason: 'r', message: '' } as const
  const before: Condition = {
    type: 'Ready',
    status: 'True',
    lastTransitionTime: 'then',
    reason: 'Listed',
    message: 'm',
  }
  const stored: ResourceRegistry = {
    ...registry('rr', [pods()]),
    metadata: { ...registry('rr', []).metadata, generation: 3 },
    status: { conditions: [foreign, before] },
  }
  const plan = { targets: new Map(), problems: [] }
  const result = registryConditions({ registry: stored, plan, shards: [shard('a')], now: 'now', nowMs: 0, cached })
  assert.deepEqual(result[0], foreign)
  assert.equal(result.find(({ type }) => type === 'Ready')?.lastTransitionTime, 'then')
  assert.equal(result.find(({ type }) => type === 'Ready')?.observedGeneration, 3)
  assert.equal(result.find(({ type }) => type === 'Synced')?.lastTransitionTime, 'now')
})

test('a status that cannot be written for long is told once for each registry', async () => {
  await using world = new World()
  const member = await world.member({ objects: [pod('a')] })
  const lines: string[] = []
  let asked = 0
  const writer = new RegistryStatusWriter({
    controller: world.controller,
    registries: world.registries,
    store: {
      updateStatus: () => {
        asked += 1
        return Promise.reject(new StatusError('serviceUnavailable', 'the disk is full'))
      },
    },
    cached: () => cachedShards(world.cache),
    clock: world.clock,
    logger: createLogger('warn', { write: (line: string) => void lines.push(line) }),
  })
  const abort = new AbortController()
  const run = writer.run(abort.signal)
  world.registries.set(registry('all', [everything]), registry('ghost', [pods()], { clusterNames: ['ghost'] }))
  world.join('m', member)
  await world.until(() => asked >= 10)
  assert.equal(lines.filter((line) => line.includes('the disk is full')).length, 2)
  abort.abort()
  await run
})

test('the writer writes what changed, once, and survives a store that fails', async () => {
  await using world = new World()
  const member = await world.member({ objects: [pod('a')] })
  const written: string[] = []
  let fails = 1
  const writer = new RegistryStatusWriter({
    controller: world.controller,
    registries: world.registries,
    store: {
      updateStatus: (name, change) => {
        if (fails-- > 0) return Promise.reject(new StatusError('serviceUnavailable', 'the disk is full'))
        const updated = world.registries.current().map((each) => (each.metadata.name === name ? change(each) : each))
        const conditions = updated.find(({ metadata }) => metadata.name === name)?.status?.conditions ?? []
        written.push(`${name} ${conditions.map(({ type, status }) => `${type}=${status}`).join()}`)
        world.registries.set(...updated)
        return Promise.resolve()
      },
    },
    cached: () => cachedShards(world.cache),
    clock: world.clock,
    logger: createLogger('silent'),
  })
  const abort = new AbortController()
  const run = writer.run(abort.signal)
  world.registries.set(registry('all', [everything]), registry('ghost', [pods()], { clusterNames: ['ghost'] }))
  world.join('m', member)
  await world.until(() => written.length === 2)
  assert.deepEqual(written.sort(), ['all Ready=True,Synced=True', 'ghost Ready=False,Synced=True'])
  await world.clock.advance(60_000)
  assert.equal(written.length, 2)
  await member.stop()
  await world.until(() => written.length === 3, 300_000)
  assert.equal(written[2], 'all Ready=True,Synced=False')
  await world.clock.advance(120_000)
  assert.ok(written.length <= 4, 'retries are no news; that it is a minute behind is worth a wording')
  assert.deepEqual(new Set(written.slice(2)), new Set(['all Ready=True,Synced=False']))
  abort.abort()
  await run
})

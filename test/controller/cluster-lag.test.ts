import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterLags, lagText, type CachedShard } from '../../src/controller/cluster-lag.ts'
import { objectsText } from '../../src/controller/condition-text.ts'

import { planned } from './fixture.ts'

type Shard = Parameters<typeof clusterLags>[0][number]

const shard = (cluster: string, resource: string, code?: string, synced = true): Shard => ({
  planned: planned(cluster, resource),
  synced,
  failure: code === undefined ? undefined : { phase: 'failing', code, message: 'a message' },
  leftOut: 0,
})

function texts(shards: readonly Shard[], heardAtMs: Readonly<Record<string, number>>, objects = 10): string[] {
  const cached = ({ cluster }: { cluster: string }): CachedShard => ({ objects, heardAtMs: heardAtMs[cluster] })
  return clusterLags(shards, cached, 1_000_000).map(lagText)
}

test('each cluster is told with its counts; the furthest behind first, then those with objects left out, then those not listed, then by name', () => {
  const shards = [
    shard('b', 'pods'),
    shard('a', 'pods'),
    shard('a', 'nodes'),
    shard('new', 'pods', undefined, false),
    { ...shard('odd', 'pods'), leftOut: 3 },
    shard('late', 'pods', 'timeout'),
    shard('later', 'pods', 'refused'),
    shard('later', 'nodes', 'refused'),
  ]
  assert.deepEqual(texts(shards, { a: 999_000, b: 940_000, late: 930_000, later: 100_000 }), [
    'later: 2 resources, 20 objects, more than 15 minutes behind (v1/pods: refused)',
    'late: 1 resource, 10 objects, more than a minute behind (v1/pods: timeout)',
    'odd: 1 resource, 10 objects, 3 left out that could not be read, current',
    'new: 1 resource, 10 objects, 1 not listed yet, current',
    'a: 2 resources, 20 objects, current',
    'b: 1 resource, 10 objects, current',
  ])
})

test('a watch that is silent is no lag, a cluster never heard has failed and nothing more', () => {
  assert.deepEqual(texts([shard('a', 'pods')], { a: 0 }), ['a: 1 resource, 10 objects, current'])
  assert.deepEqual(texts([shard('a', 'pods', 'dns', false)], {}, 0), [
    'a: 1 resource, 0 objects, 1 not listed yet, behind (v1/pods: dns)',
  ])
})

test('the wording changes in steps: not with each object, nor with each second', () => {
  assert.deepEqual([0, 1, 99, 100, 109, 110, 12_345, 2_000_001].map(objectsText), [
    '0 objects',
    '1 object',
    '99 objects',
    'about 100 objects',
    'about 100 objects',
    'about 110 objects',
    'about 12000 objects',
    'about 2000000 objects',
  ])
  const wordings = new Set<string>()
  for (let behindS = 0; behindS < 2 * 24 * 3_600; behindS += 5) {
    const cached = (): CachedShard => ({ objects: 1, heardAtMs: 0 })
    for (const lag of clusterLags([shard('a', 'pods', 'refused')], cached, behindS * 1_000)) wordings.add(lagText(lag))
  }
  assert.equal(wordings.size, 7, 'of two days')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backendVerdict, type StoreHealth } from '../../src/controller/backend-condition.ts'

const health = (more: Partial<StoreHealth> = {}): StoreHealth => ({
  ...{ store: 'opensearch/os:9200', failure: undefined, lagMs: 0, complete: true, deadLetters: 0, waiting: new Map() },
  ...more,
})

test('BackendHealthy says which stores have what they are given', () => {
  assert.deepEqual(backendVerdict([health({ store: 'sqlite' }), health({ deadLetters: 2 })], []), {
    status: 'True',
    reason: 'Written',
    message: 'written to sqlite, opensearch/os:9200 (2 objects refused, see search/dead-letters)',
  })
})

test('H7: 401, 403 and a read-only index are named, with how long it has been', () => {
  const failing = (code: string, lagMs: number) =>
    backendVerdict([health({ failure: { code, message: 'the engine says no' }, lagMs })], [])
  assert.deepEqual(failing('unauthorized', 20_000), {
    status: 'False',
    reason: 'Unauthorized',
    message: 'opensearch/os:9200: the engine says no',
  })
  assert.equal(failing('forbidden', 400_000).reason, 'Forbidden')
  assert.equal(
    failing('readOnly', 400_000).message,
    'opensearch/os:9200: the engine says no; behind for more than 5 minutes',
  )
})

test('a store that puts something off for a moment is no news, one that stays behind is, in steps', () => {
  const overloaded = { code: 'overloaded', message: '429' }
  assert.equal(backendVerdict([health({ failure: overloaded, lagMs: 3_000 })], []).status, 'True')
  const behind = (lagMs: number): string => backendVerdict([health({ lagMs })], []).message
  assert.equal(behind(61_000), behind(290_000))
  assert.equal(backendVerdict([health({ lagMs: 61_000 })], []).reason, 'Behind')
})

test('a store that is behind is told with what waits of each cluster, the most first and not more than five', () => {
  const waiting = new Map([...'abcdef'].map((cluster, i) => [cluster, i + 1]))
  waiting.set('m1', 1_234)
  assert.equal(
    backendVerdict([health({ lagMs: 400_000, waiting })], []).message,
    'opensearch/os:9200 is behind for more than 5 minutes (m1: about 1200 objects, f: 6 objects, e: 5 objects, d: 4 objects, c: 3 objects, and 2 more)',
  )
  const failure = { code: 'unavailable', message: 'no shard' }
  assert.equal(
    backendVerdict([health({ lagMs: 60_000, failure, waiting: new Map([['m1', 1]]) })], []).message,
    'opensearch/os:9200: no shard; behind for more than a minute (m1: 1 object)',
  )
})

test('what the plan of stores finds wrong is told where nothing fails', () => {
  const problem = { registry: 'r', reason: 'TooManyStores', message: 'too many' } as const
  assert.deepEqual(backendVerdict([health()], [problem]), {
    status: 'False',
    reason: 'TooManyStores',
    message: 'too many',
  })
})

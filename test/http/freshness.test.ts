import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterFreshness } from '../../src/http/freshness.ts'
import { freshnessHeaders, freshnessOf, warningValue } from '../../src/http/freshness.ts'

const header = (clusters: readonly ClusterFreshness[], name: string): unknown => freshnessHeaders(clusters)[name]

test('the state of a shard: live, late, failing, not listed', () => {
  const state = (synced: boolean, reflector: Parameters<typeof freshnessOf>[0]['reflector'], heardAtMs?: number) =>
    freshnessOf({ cluster: 'm', synced, heardAtMs, reflector }, 100_000).state
  const failing = { phase: 'failing', message: 'refused' } as const
  assert.equal(state(true, { phase: 'watching' }, 1), 'live')
  assert.equal(state(true, { phase: 'listing' }, 90_000), 'live')
  assert.equal(state(true, { phase: 'listing' }, 30_000), 'stale')
  assert.equal(state(true, failing, 99_000), 'stale')
  assert.equal(state(false, failing), 'missing')
  assert.equal(state(false, { phase: 'listing' }), 'syncing')
})

test('no clusters, no headers; nothing wrong, no warning', () => {
  assert.deepEqual(freshnessHeaders([]), {})
  assert.deepEqual(freshnessHeaders([{ cluster: 'm', state: 'live', ageMs: 1_999 }]), {
    'fleetsearch-freshness': 'm;live;1',
  })
})

test('a thousand clusters stay within bounds, with those in trouble first', () => {
  const clusters = Array.from({ length: 1_000 }, (_, i): ClusterFreshness => {
    const cluster = `production-cluster-${String(i).padStart(4, '0')}`
    return i % 2 === 0 ? { cluster, state: 'live', ageMs: 0 } : { cluster, state: 'missing', reason: 'x'.repeat(500) }
  })
  const freshness = String(header(clusters, 'fleetsearch-freshness'))
  assert.ok(freshness.length < 2_100)
  assert.match(freshness, /^production-cluster-0001;missing;-,/)
  const omitted = Number(/,\*;omitted;([0-9]+)$/.exec(freshness)?.[1])
  assert.equal(freshness.split(',').length - 1 + omitted, 1_000)
  const [warning] = header(clusters, 'warning') as string[]
  assert.ok(String(warning).length < 1_100)
  assert.match(String(warning), /^299 - "500 of 1000 clusters are missing/)
})

test('names and reasons of any text make a valid header', () => {
  const nasty = 'arn:aws:eks/a,b;c "q" \\ 漢\n\u0000'
  const headers = freshnessHeaders([{ cluster: nasty, state: 'missing', reason: nasty }])
  for (const value of [headers['fleetsearch-freshness'], ...(headers['warning'] as unknown as string[])]) {
    assert.match(String(value), /^[\x20-\x7e]*$/)
  }
  assert.match(
    String(headers['fleetsearch-freshness']),
    /^arn:aws:eks\/a%2Cb%3Bc%20%22q%22%20%5C%20%E6%BC%A2%0A%00;missing;-$/,
  )
})

test('a warning is a quoted string of code 299', () => {
  assert.equal(warningValue('a "b" \\ c'), '299 - "a \\"b\\" \\\\ c"')
})

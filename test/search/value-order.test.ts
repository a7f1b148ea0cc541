/** Orders that no store has keys of: labels, annotations and JSON paths, by what the cached objects have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SearchStore } from '../../src/query/search-request.ts'
import type { Used } from '../../src/search/search-usage.ts'
import { STALL_MS } from '../../src/search/stall-watch.ts'
import { MAX_ORDERED } from '../../src/search/value-order.ts'
import { systemClock } from '../../src/util/clock.ts'
import type { StalledClient } from '../http/loopback.ts'
import { pod, podFleet, PODS, TestFleet } from '../proxy/fleet-fixture.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { eventually } from '../support/whole-service.ts'
import { fillStore, withSearch, type Json, type ServedSearch } from './served-search.ts'

const labelled = (name: string, tier: string | undefined, spec: object = {}) =>
  pod('shop', name, { metadata: { name, labels: tier === undefined ? {} : { tier } }, spec } as never)

function fleet(): TestFleet {
  return podFleet({
    member1: {
      objects: [
        labelled('a', 'Gold', { size: '1Gi', tags: ['x', 'a'] }),
        labelled('b', undefined, { size: 'huge', at: '2026-01-01T00:00:00Z' }),
        labelled('c', 'bronze', { size: '900Mi' }),
      ],
      version: 1,
    },
    member2: { objects: [labelled('a', 'gold', { size: 12 }), labelled('d', 'Bronze', {})], version: 1 },
  })
}

async function walked({ json }: ServedSearch, sort: string, limit = '2'): Promise<string> {
  const names: string[] = []
  let token = ''
  do {
    const query = { q: 'kind:Pod', sort, limit, fields: 'cluster,name', ...(token === '' ? {} : { continue: token }) }
    const page = await json('query', query)
    names.push(...page.items.map(({ fields }: Json) => `${fields.cluster.at(-1)}${fields.name}`))
    token = page.continue ?? ''
  } while (token !== '')
  return names.join(' ')
}

test('text without case, then by bytes; numbers, quantities, times, text of a path; missing last in both directions', async () => {
  await withSearch(fleet(), async (served) => {
    for (const limit of ['1', '2', '50']) {
      assert.equal(await walked(served, 'label.tier', limit), '2d 1c 1a 2a 1b', limit)
      assert.equal(await walked(served, '-label.tier', limit), '2a 1a 1c 2d 1b', limit)
      assert.equal(await walked(served, 'spec.size', limit), '2a 1c 1a 1b 2d', limit)
      assert.equal(await walked(served, '-.spec.size', limit), '1b 1a 1c 2a 2d', limit)
      assert.equal(await walked(served, '.spec.at,-cluster,-name', limit), '1b 2d 2a 1c 1a', limit)
      assert.equal(await walked(served, '.spec.tags', limit), '1a 1b 1c 2a 2d', limit)
    }
    const csv = await served.ask(
      'query',
      { q: 'kind:Pod', sort: '-label.tier', fields: 'name,label.tier' },
      { headers: { accept: 'text/csv' } },
    )
    assert.deepEqual(csv.text.trimEnd().split('\r\n'), [
      'name,label.tier',
      'a,gold',
      'a,Gold',
      'c,bronze',
      'd,Bronze',
      'b,',
    ])
  })
})

test('a page begins behind its cursor, whether or not that object is still there or has changed', async () => {
  const world = fleet()
  await withSearch(world, async ({ json, store }) => {
    const first = await json('query', { q: 'kind:Pod', sort: 'label.tier', limit: '2', fields: 'name' })
    world.shard('member1', PODS).list([labelled('a', 'Gold'), labelled('b', undefined)], 2)
    const pods = { group: '', version: 'v1', resource: 'pods', kind: 'Pod', cluster: 'member1' }
    await store.write([{ type: 'delete', ...pods, namespace: 'shop', name: 'c' }])
    await fillStore(store, world)
    const rest = await json('query', {
      ...{ q: 'kind:Pod', sort: 'label.tier', limit: '5', fields: 'name' },
      continue: first.continue,
    })
    assert.deepEqual(
      rest.items.map(({ fields }: Json) => fields.name),
      ['a', 'a', 'b'],
    )
  })
})

test('values of Secrets order nothing; what is not indexed and a token of another order are a 400', async () => {
  const secrets = { group: '', version: 'v1', resource: 'secrets' }
  const world = new TestFleet().register(secrets, 'Secret', true)
  const secret = (name: string, key: string) => ({
    metadata: { name, namespace: 'shop', uid: name },
    data: { key },
  })
  world.shard('member1', secrets, 'Secret', true).list([secret('a', 'eg=='), secret('b', 'YQ==')], 1)
  await withSearch(world, async ({ json, ask }) => {
    for (const sort of ['.data.key', '-.data.key']) {
      const { items } = await json('query', { q: 'kind:Secret', sort, fields: 'name' })
      assert.deepEqual(
        items.map(({ fields }: Json) => fields.name),
        ['a', 'b'],
      )
    }
    assert.equal((await ask('query', { q: '', sort: '.metadata.managedFields.manager' })).status, 400)
    const { continue: token } = await json('query', { q: 'kind:Secret', sort: '.data.key', limit: '1' })
    assert.equal((await ask('query', { q: 'kind:Secret', sort: '.data.other', continue: token })).status, 400)
  })
})

const POD_HIT = { cluster: 'member1', group: '', version: 'v1', resource: 'pods', kind: 'Pod', namespace: 'shop' }

/** A store that finds the pods `p-0` and so on, in pages, told by `calls`. */
function storeOf(found: number, calls: number[] = []): SearchStore {
  return {
    search: ({ limit, after = [0] }) => {
      const from = Number(after[0])
      const count = Math.min(limit, found - from)
      calls.push(count)
      const hits = Array.from({ length: count }, (_, i) => {
        const name = `p-${from + i}`
        return { ...POD_HIT, name, uid: `uid-shop-${name}`, rank: 0, cursor: [from + i + 1] }
      })
      return Promise.resolve({ total: found, totalIsExact: true, hits, more: from + count < found, facets: [] })
    },
    count: () => Promise.reject(new Error('not asked')),
    vocabulary: () => Promise.reject(new Error('not asked')),
  }
}

const numbered = (count: number, pad = ''): TestFleet =>
  podFleet({
    member1: {
      objects: Array.from({ length: count }, (_, i) => labelled(`p-${i}`, String(i % 7), { pad })),
      version: 1,
    },
  })

test('a page is of any number found, of which no more is kept than it shows', async () => {
  const count = 12_000
  const calls: number[] = []
  await withSearch(
    numbered(count),
    async ({ json }) => {
      const first = await json('query', { q: 'kind:Pod', sort: '-label.tier,-name', limit: '3', fields: 'name' })
      assert.deepEqual(calls, [5_000, 5_000, 2_000])
      const second = await json('query', {
        ...{ q: 'kind:Pod', sort: '-label.tier,-name', limit: '3', fields: 'name' },
        continue: first.continue,
      })
      const last = Array.from({ length: count }, (_, i) => i)
        .filter((i) => i % 7 === 6)
        .map((i) => `p-${i}`)
        .toSorted()
        .toReversed()
      const shown = [...first.items, ...second.items].map(({ fields }: Json) => fields.name)
      assert.deepEqual(shown, last.slice(0, 6))
      assert.equal(first.total, count)
    },
    { store: storeOf(count, calls) },
  )
})

test('what takes too long to read, and an export of more rows than are kept, is a 400 that says how many there are', async () => {
  const found = MAX_ORDERED + 1
  const csv = { headers: { accept: 'text/csv' } }
  const world = numbered(8_000)
  let ms = 0
  const clock = { ...systemClock, monotonicMs: () => (ms += 1) }
  await withSearch(
    world,
    async ({ ask }) => {
      const all = await ask('query', { q: 'kind:Pod', sort: 'label.tier' }, csv)
      assert.equal(all.status, 400)
      assert.match(all.json.message, /up to 10000 rows.* and 10001 are found/)
      const page = await ask('query', { q: 'kind:Pod', sort: 'label.tier' })
      assert.equal(page.status, 400)
      assert.match(page.json.message, /of 10001 results .* of \d+ were read in 5 s/)
    },
    { store: storeOf(found), clock },
  )
})

test('an export that more objects have come to since they were counted is that 400 too, before anything is sent', async () => {
  const store = storeOf(MAX_ORDERED + 1)
  const search: SearchStore['search'] = async (request) => ({ ...(await store.search(request)), total: MAX_ORDERED })
  await withSearch(
    numbered(1),
    async ({ ask }) => {
      const { status, json } = await ask(
        'query',
        { q: 'kind:Pod', sort: 'label.tier' },
        { headers: { accept: 'text/csv' } },
      )
      assert.equal(status, 400)
      assert.match(json.message, /up to 10000 rows.* and 10001 are found/)
    },
    { store: { ...store, search } },
  )
})

test('who does not read keeps nobody from ordering, has a quarter of what is kept for exports, and is let go', async () => {
  const world = numbered(4_000, 'x'.repeat(4_000)) // more than sockets take
  const usage = new Map<string, { now(): number; readonly most: number }>()
  const clock = new FakeClock()
  const parts = { clock, usage: { watch: (part: string, used: Used) => void usage.set(part, used) } }
  const csv = { headers: { accept: 'text/csv' } }
  await withSearch(
    world,
    async ({ api, ask, json }) => {
      const path = '/query?q=kind:Pod&sort=label.tier'
      const slow: StalledClient[] = []
      const used = (part: string): number => usage.get(part)?.now() ?? -1
      for (let i = 1; i <= 4; i++) {
        slow.push(await api.stalledWatch(path, { accept: 'application/x-ndjson' }))
        await eventually(() => used('value_exports') === i && used('value_sorts') === 0, 'an export under way')
      }
      assert.equal((await json('query', { q: 'kind:Pod', sort: 'label.tier', limit: '1' })).items.length, 1)
      assert.equal((await ask('query', { q: 'kind:Pod', sort: 'label.tier' }, csv)).status, 429)
      await clock.advance(STALL_MS)
      await clock.advance(STALL_MS)
      await Promise.all(slow.map(({ closed }) => closed))
      await eventually(() => used('value_exports') === 0, 'the end of all')
      assert.equal((await ask('query', { q: 'kind:Pod', sort: 'label.tier', limit: '1' }, csv)).status, 200)
    },
    parts,
  )
})

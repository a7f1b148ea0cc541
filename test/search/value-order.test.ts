/** Orders that no store has keys of: labels, annotations and JSON paths, by what the cached objects have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_SORTED } from '../../src/search/value-order.ts'
import type { SearchStore } from '../../src/query/search-request.ts'
import { pod, podFleet, PODS, TestFleet } from '../proxy/fleet-fixture.ts'
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

test('more than can be ordered is a 400 that says how many there are', async () => {
  const found = MAX_SORTED + 1
  const store: SearchStore = {
    search: ({ limit }) =>
      Promise.resolve({ total: found, totalIsExact: true, hits: [], more: limit < found, facets: [] }),
    count: () => Promise.reject(new Error('not asked')),
    vocabulary: () => Promise.reject(new Error('not asked')),
  }
  await withSearch(
    fleet(),
    async ({ ask }) => {
      const answer = await ask('query', { q: 'kind:Pod', sort: 'label.tier' })
      assert.equal(answer.status, 400)
      assert.match(answer.json.message, /up to 10000 results.* and 10001 are found/)
    },
    { store },
  )
})

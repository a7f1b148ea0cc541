/** Everything a query finds, while objects come and go. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pod, podFleet, PODS, type TestFleet } from '../proxy/fleet-fixture.ts'
import { fillStore, withSearch, type Json, type ServedSearch } from './served-search.ts'

const OBJECTS = 12_345
const name = (i: number): string => `p-${String(i).padStart(5, '0')}`
const named = (i: number) => pod('shop', name(i), { spec: { nodeName: `n${i % 7}` } })

function bigFleet(count = OBJECTS): TestFleet {
  return podFleet({ member1: { objects: Array.from({ length: count }, (_, i) => named(i)), version: 1 } })
}

const shardOf = (fleet: TestFleet) => fleet.shard('member1', PODS)
const upsert = (fleet: TestFleet, served: ServedSearch): Promise<void> => fillStore(served.store, fleet)

test(
  '12,345 results paged to the end while objects come and go: those that stay come exactly once',
  { timeout: 120_000 },
  async () => {
    const fleet = bigFleet()
    await withSearch(fleet, async (served) => {
      const seen = new Map<string, number>()
      let token = ''
      let page = 0
      do {
        const found = await served.json('query', {
          q: 'kind:Pod',
          limit: '1000',
          sort: 'node,-name',
          fields: 'name',
          ...(token === '' ? {} : { continue: token }),
        })
        for (const { fields } of found.items as Json[]) seen.set(fields.name, (seen.get(fields.name) ?? 0) + 1)
        token = found.continue ?? ''
        const shard = shardOf(fleet)
        for (let i = page; i < OBJECTS; i += 997) {
          const change = {
            group: '',
            version: 'v1',
            resource: 'pods',
            kind: 'Pod',
            cluster: 'member1',
            namespace: 'shop',
            name: name(i),
          }
          await served.store.write([{ type: 'delete', ...change }])
          shard.delete(named(i), 100 + page)
        }
        shard.put(named(90_000 + page), 200 + page)
        page += 1
      } while (token !== '')
      assert.ok(page >= 13)
      assert.ok([...seen.values()].every((count) => count === 1))
      const stayed = Array.from({ length: OBJECTS }, (_, i) => i).filter((i) => i % 997 >= page)
      assert.deepEqual(
        stayed.filter((i) => !seen.has(name(i))),
        [],
      )
    })
  },
)

test('an export streams all of them, and with snapshot as they were when it began', { timeout: 120_000 }, async () => {
  const fleet = bigFleet(3_000)
  await withSearch(fleet, async (served) => {
    const headers = { accept: 'application/x-ndjson' }
    const all = await served.ask('query', { q: 'node:n1' }, { headers })
    assert.equal(all.text.trimEnd().split('\n').length, Number(all.headers['fleetsearch-total']))
    const held = await served.store.snapshot()
    shardOf(fleet).put(pod('shop', 'late', { spec: { nodeName: 'n1' } }), 9)
    await upsert(fleet, served)
    const request = {
      predicate: { type: 'exact' as const, path: 'name', value: 'late' },
      ranked: [],
      sort: [],
      limit: 1,
      facets: [],
    }
    assert.equal((await held.search(request)).total, 0)
    assert.equal((await served.store.search(request)).total, 1)
    await held.close()
    const pinned = await served.ask('query', { q: '', snapshot: 'true', fields: 'name' }, { headers })
    assert.equal(pinned.text.trimEnd().split('\n').length, 3_001)
  })
})

test('too many snapshots at once are refused, and given back when they are closed', async () => {
  await withSearch(bigFleet(1), async ({ store }) => {
    const held = await Promise.all(Array.from({ length: 4 }, () => store.snapshot()))
    await assert.rejects(store.snapshot(), (error: { code?: string }) => error.code === 'tooManyRequests')
    await held[0]?.close()
    await (await store.snapshot()).close()
    await Promise.all(held.slice(1).map((each) => each.close()))
  })
})

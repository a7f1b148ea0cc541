import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pod, podFleet, PODS } from '../proxy/fleet-fixture.ts'
import { EVERYTHING, FakeRights, NOTHING, scope } from '../support/fake-rights.ts'
import type { OpenWatch } from '../http/loopback.ts'
import { SearchUsage } from '../../src/search/search-usage.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { fleetOfTwo, withSearch, type Json, type ServedSearch } from './served-search.ts'

const running = (name: string, phase = 'Running') => pod('shop', name, { status: { phase } })
const url = (q: string, more: Record<string, string> = {}): string =>
  `/query/proxy?${new URLSearchParams({ watch: 'true', q, ...more }).toString()}`
const shown = ({ events }: OpenWatch): string[] =>
  events.map(({ type, object }) => (type === 'BOOKMARK' ? type : `${type} ${object.metadata?.name ?? object.reason}`))
const bookmarkOf = ({ events }: OpenWatch): string =>
  events.findLast(({ type }) => type === 'BOOKMARK')?.object.metadata.resourceVersion ?? ''

test('objects that enter, change in and leave the result of a query', async () => {
  const fleet = podFleet({ member1: { objects: [running('a'), running('b', 'Pending')], version: 1 } })
  await withSearch(fleet, async ({ api }) => {
    const watch = await api.watch(url('kind:Pod status:Running'))
    await watch.until(2)
    assert.deepEqual(shown(watch), ['ADDED a', 'BOOKMARK'])
    assert.equal(watch.events[1]?.object.metadata.annotations['k8s.io/initial-events-end'], 'true')
    const shard = fleet.shard('member1', PODS)
    shard.put(running('b'), 2)
    shard.put(running('b'), 3)
    shard.put(running('a', 'Failed'), 4)
    shard.delete(running('b'), 5)
    shard.put(running('c', 'Pending'), 6)
    await watch.until(6)
    assert.deepEqual(shown(watch).slice(2), ['ADDED b', 'MODIFIED b', 'DELETED a', 'DELETED b'])
    assert.equal(watch.events[4]?.object.status.phase, 'Failed')
    assert.equal(watch.events[4]?.object.metadata.annotations['cluster.karmada.io/name'], 'member1')
    watch.close()
  })
})

test('resumes behind a bookmark; a token of another query is refused', async () => {
  const fleet = podFleet({ member1: { objects: [running('a')], version: 1 } })
  await withSearch(fleet, async ({ api }) => {
    const first = await api.watch(url('status:Running'))
    await first.until(2)
    const resourceVersion = bookmarkOf(first)
    first.close()
    fleet.shard('member1', PODS).put(running('b'), 2)
    const second = await api.watch(url('status:Running', { resourceVersion }))
    await second.until(2)
    assert.deepEqual(shown(second), ['BOOKMARK', 'ADDED b'])
    second.close()
    for (const bad of [url('other', { resourceVersion }), url('', { resourceVersion: 'x' }), url('restarts>many')]) {
      assert.equal((await api.ask(bad)).status, 400, bad)
    }
    assert.equal((await api.ask('/query?watch=true')).status, 400)
    assert.equal((await api.ask(url('cluster:nope'))).status, 404)
  })
})

test('the time that a client names ends it; a resource that the query is not about is not looked at', async () => {
  const fleet = fleetOfTwo()
  await withSearch(fleet, async ({ api }) => {
    const watch = await api.watch(url('kind:Node', { timeoutSeconds: '5' }))
    await watch.until(1)
    assert.deepEqual(shown(watch), ['BOOKMARK'])
    await fleet.clock.advance(5_000)
    await watch.ended
    assert.equal(watch.isEnded, true)
  })
})

test('nothing of what the caller may not list, and an end when that changes', async () => {
  const fleet = podFleet({
    member1: { objects: [running('a'), running('b')], version: 1 },
    member2: { objects: [running('a')], version: 1 },
  })
  const rights = new FakeRights({ member1: scope(['shop', 'a']), member2: NOTHING })
  await withSearch(
    fleet,
    async ({ api }) => {
      const watch = await api.watch(url(''))
      await watch.until(2)
      fleet.shard('member1', PODS).put(running('b', 'Failed'), 2)
      fleet.shard('member2', PODS).put(running('a', 'Failed'), 2)
      fleet.shard('member1', PODS).put(running('a', 'Failed'), 3)
      await watch.until(3)
      assert.deepEqual(shown(watch), ['ADDED a', 'BOOKMARK', 'MODIFIED a'])
      rights.set('member2', EVERYTHING)
      await watch.ended
      const last = watch.events.at(-1) as Json
      assert.deepEqual([last.type, last.object.code, last.object.reason], ['ERROR', 410, 'Expired'])
      assert.equal(rights.listeners, 0)
    },
    { rights },
  )
})

test('bookmarks come with the changes, at most every ten seconds', async () => {
  const fleet = podFleet({ member1: { objects: [running('a')], version: 1 } })
  await withSearch(fleet, async ({ api }) => {
    const watch = await api.watch(url(''))
    await watch.until(2)
    const before = bookmarkOf(watch)
    fleet.shard('member1', PODS).put(running('b'), 2)
    await watch.until(3)
    await fleet.clock.advance(11_000)
    fleet.shard('member1', PODS).put(running('c'), 3)
    await watch.until(5)
    assert.deepEqual(shown(watch).slice(2), ['ADDED b', 'ADDED c', 'BOOKMARK'])
    assert.notEqual(bookmarkOf(watch), before)
    watch.close()
  })
})

test(
  'more than 100 watches of one user at once are refused, and 200 of all; places are given back',
  { timeout: 60_000 },
  async () => {
    const fleet = podFleet({ member1: { objects: [running('a')], version: 1 } })
    const registry = createMetricsRegistry()
    const search = async ({ api }: ServedSearch): Promise<void> => {
      const watches: OpenWatch[] = []
      for (const name of ['bob', 'eve']) {
        api.user = { ...api.user, name }
        watches.push(...(await Promise.all(Array.from({ length: 100 }, () => api.watch(url('kind:Pod'))))))
        const refused = await api.ask(url('kind:Pod'))
        assert.deepEqual([refused.status, refused.json.reason], [429, 'TooManyRequests'])
      }
      assert.ok(watches.every(({ status }) => status === 200))
      api.user = { ...api.user, name: 'joe' }
      assert.equal((await api.ask(url('kind:Pod'))).status, 429)
      const metrics = await registry.metrics()
      assert.match(metrics, /fleetsearch_search_in_use\{part="query_watches"\} 200/)
      assert.match(metrics, /fleetsearch_search_in_use_limit\{part="query_watches"\} 200/)
      assert.equal((await api.ask('/query/proxy?q=kind:Pod')).status, 200)
      for (const watch of watches) watch.close()
      await Promise.all(watches.map(({ ended }) => ended))
      let again = await api.watch(url('kind:Pod'))
      while (again.status === 429) again = await api.watch(url('kind:Pod')) // the server may not have noticed yet
      assert.equal(again.status, 200)
      again.close()
    }
    await withSearch(fleet, search, { usage: new SearchUsage(registry) })
  },
)

test('an object that nests deeper than there is stack for keeps nothing else from anybody', async () => {
  let deep: unknown = 1
  let list: unknown = 1
  for (let i = 0; i < 9_000; i++) [deep, list] = [{ a: deep }, [list]]
  const digits = { metadata: { name: 'b', annotations: { note: '1234567890123456' } }, spec: { deep, list } }
  const fleet = podFleet({ member1: { objects: [running('a'), pod('shop', 'b', digits)], version: 1 } })
  await withSearch(fleet, async ({ api, json }) => {
    const watch = await api.watch(url('kind:Pod'))
    await watch.until(3)
    assert.deepEqual(shown(watch), ['ADDED a', 'ADDED b', 'BOOKMARK'])
    watch.close()
    for (const more of [{ fields: 'name,.spec.deep' }, { sort: '.spec.x' }, { highlight: 'true' }])
      assert.equal((await json('query', { q: 'kind:Pod', ...more })).items.length, 2)
    assert.deepEqual((await json('suggest', { q: 'spec.list.' })).items, [])
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createQueryHandler } from '../../src/search/query-handler.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import type { SearchStore } from '../../src/query/search-request.ts'
import { Loopback } from '../http/loopback.ts'
import { pod, podFleet, PODS, TestFleet } from '../proxy/fleet-fixture.ts'
import { fleetOfTwo, withSearch, type Json, type ServedSearch } from './served-search.ts'

interface Served {
  readonly api: Loopback
  readonly query: (parameters: Record<string, string>) => Promise<Json>
}

function withQuery(
  fleet: TestFleet,
  use: (served: Served) => Promise<void>,
  { names = [], complete = true }: { readonly names?: readonly string[]; readonly complete?: boolean } = {},
): Promise<void> {
  const clusters = { names: () => names as ClusterName[] }
  const index = { status: () => ({ pending: 2, lagMs: 1_500, complete }) }
  const run = ({ api, json }: ServedSearch): Promise<void> =>
    use({ api, query: (parameters) => json('query', parameters) })
  return withSearch(fleet, run, { clusters, index })
}

const named = (json: Json): string[] =>
  json.items.map(
    ({ object }: Json) => `${object.metadata.annotations['cluster.karmada.io/name']}/${object.metadata.name}`,
  )

test('finds objects over all clusters, as the cache has them, with total, facets and freshness', async () => {
  await withQuery(fleetOfTwo(), async ({ query, api }) => {
    const json = await query({ q: 'image:nginx restarts>0', facets: 'cluster,ns,image', sort: '-restarts' })
    assert.equal(json.apiVersion, 'search.karmada.io/v1alpha1')
    assert.equal(json.kind, 'QueryResult')
    assert.deepEqual([json.total, json.totalIsExact], [2, true])
    assert.deepEqual(named(json), ['member2/web-1', 'member1/web-1'])
    const { object } = json.items[0]
    assert.equal(object.kind, 'Pod')
    assert.equal(object.apiVersion, 'v1')
    assert.equal(object.metadata.resourceVersion, '9')
    assert.equal(object.metadata.annotations['resource.karmada.io/cached-from-cluster'], 'member2')
    assert.deepEqual(json.facets.cluster, {
      distinct: 2,
      values: [
        { value: 'member1', count: 1 },
        { value: 'member2', count: 1 },
      ],
    })
    assert.deepEqual(json.facets.ns.values, [{ value: 'shop', count: 2 }])
    assert.equal(json.facets.image.distinct, 2)
    assert.deepEqual(
      json.freshness.map(({ cluster, state }: Json) => [cluster, state]),
      [
        ['member1', 'live'],
        ['member2', 'live'],
      ],
    )
    assert.deepEqual(json.index, { pending: 2, lagSeconds: 1 })
    assert.equal('continue' in json, false)
    const { headers } = await api.ask('/query?q=web')
    assert.equal(headers['content-type'], 'application/json')
    assert.match(String(headers['fleetsearch-freshness']), /^member1;live;/)
  })
})

test('nothing found is an empty answer', async () => {
  await withQuery(fleetOfTwo(), async ({ query }) => {
    const json = await query({ q: 'nosuchword', facets: 'cluster' })
    assert.deepEqual([json.total, json.items, json.facets.cluster], [0, [], { distinct: 0, values: [] }])
  })
})

test('pages by continue until the end, whatever the order; a token of another query is refused', async () => {
  await withQuery(fleetOfTwo(), async ({ query, api }) => {
    for (const sort of ['', 'name', '-restarts,name', 'node']) {
      const all = named(await query({ q: 'kind:Pod', sort }))
      assert.equal(all.length, 4)
      const walked: string[] = []
      let token = ''
      do {
        const page = await query({ q: 'kind:Pod', sort, limit: '1', ...(token === '' ? {} : { continue: token }) })
        assert.equal(page.total, 4)
        walked.push(...named(page))
        token = page.continue ?? ''
      } while (token !== '')
      assert.deepEqual(walked, all, sort)
    }
    const { continue: token } = await query({ q: 'web', limit: '1' })
    for (const bad of [
      `q=other&continue=${token}`,
      `q=web&sort=name&continue=${token}`,
      'continue=%00',
      'continue=e30',
    ]) {
      const { status, json } = await api.ask(`/query?${bad}`)
      assert.equal(status, 400, bad)
      assert.equal(json.reason, 'BadRequest')
    }
  })
})

test('ages on later pages count from the time of the first', async () => {
  const created = (name: string, at: string) => pod('shop', name, { metadata: { creationTimestamp: at } } as never)
  const fleet = podFleet({
    member1: { objects: [created('a', '2026-11-29T23:00:30Z'), created('b', '2026-11-29T23:30:00Z')], version: 1 },
  })
  await withQuery(fleet, async ({ query }) => {
    const first = await query({ q: 'age<1h', limit: '1' })
    assert.deepEqual([first.total, named(first)], [2, ['member1/a']])
    await fleet.clock.advance(60_000)
    const second = await query({ q: 'age<1h', limit: '1', continue: first.continue })
    assert.deepEqual([second.total, named(second)], [2, ['member1/b']])
    assert.equal((await query({ q: 'age<1h' })).total, 1)
  })
})

test('fields instead of objects: one value, several, none; numbers stay numbers', async () => {
  await withQuery(fleetOfTwo(), async ({ query }) => {
    const fields = 'cluster,name,restarts,image,label.app,spec.nodeName,.status.phase,annotation.none,node,kind,group'
    const json = await query({ q: 'name=web-1 cluster=member2', fields })
    assert.deepEqual(json.items[0].fields, {
      cluster: 'member2',
      name: 'web-1',
      restarts: 12,
      image: 'docker.io/library/nginx:1.25',
      'label.app': 'web',
      'spec.nodeName': 'n1',
      '.status.phase': 'Running',
      'annotation.none': null,
      node: 'n1',
      kind: 'Pod',
      group: null,
    })
    assert.equal('object' in json.items[0], false)
  })
})

test('an object that has taken the name of what was found is not shown for it', async () => {
  const fleet = new TestFleet().register(PODS, 'Pod', true)
  const shard = fleet.shard('member1', PODS).list([pod('shop', 'web', { metadata: { name: 'web', uid: 'old' } })], 7)
  await withQuery(fleet, async ({ query }) => {
    assert.deepEqual(named(await query({ q: 'web' })), ['member1/web'])
    shard.put(pod('shop', 'web', { metadata: { name: 'web', uid: 'new' } }), 8)
    const json = await query({ q: 'web' })
    assert.deepEqual([json.total, json.items, json.gone], [1, [], 1])
  })
})

test('what is gone since it was indexed is left out and counted', async () => {
  const fleet = fleetOfTwo()
  await withQuery(fleet, async ({ query }) => {
    fleet.cache.resource(PODS)
    fleet.shard('member2', PODS, 'Pod', true, 'another').list([], 1)
    const json = await query({ q: 'web' })
    assert.equal(json.total, 3)
    assert.equal(json.gone, 1)
    assert.deepEqual(named(json), ['member1/web-1', 'member1/web-2'])
  })
})

test('I1: bad input is a 400 that says where; odd input is none', async () => {
  await withQuery(fleetOfTwo(), async ({ api, query }) => {
    const bad: [string, RegExp][] = [
      ['q=restarts>many', /position 9: restarts is a number, and "many" is not/],
      ['q=created>2020-02-30T00:00:00Z', /position 8: created is a time.*, and "2020-02-30T00:00:00Z" is not/],
      ['q=created>2020-02-30', /position 8: created is a time.*, and "2020-02-30" is not/],
      ['q=x age>soon', /position 6: created is a time or an age/],
      ['q=status<b', /status is text, which "<" cannot compare/],
      ['q=metadata.managedFields.manager:x', /not indexed/],
      ['limit=0', /limit: "0" is no whole number from 1 to 1000/],
      ['limit=x', /limit/],
      ['sort=nofield', /sort: "nofield" is no field/],
      ['sort=.metadata.managedFields.manager', /sort: ".metadata.managedFields.manager" is not indexed/],
      ['facets=cluster,nofield', /facets: "nofield" is no field/],
      ['fields=nofield', /fields/],
      [`q=${'x '.repeat(300)}`, /more than 256 terms/],
      [`q=${'('.repeat(100)}a${')'.repeat(100)}`, /nested deeper than 32/],
      [`q=${'x'.repeat(12_001)}`, /longer than 12000/],
    ]
    for (const [parameters, message] of bad) {
      const { status, json } = await api.ask(`/query?${parameters.replaceAll(' ', '%20').replaceAll('>', '%3E')}`)
      assert.equal(status, 400, parameters)
      assert.match(json.message, message)
    }
    for (const q of ['a AND', '"unbalanced', '*', '-x', '\\', 'foo[0]', ')(', '🚀', '', '\'"', 'x'.repeat(10_000)]) {
      assert.equal(typeof (await query({ q })).total, 'number', q)
    }
    const { warnings } = await query({ q: 'restart>3 -- web' })
    assert.deepEqual(warnings, [
      '"restart" is no field: "restart>3" was searched for as text',
      '"--" has no letters or digits: ignored',
    ])
  })
})

test('GET, HEAD and POST, only this path; a store that fails is a 503 without its inner text', async () => {
  await withQuery(fleetOfTwo(), async ({ api }) => {
    assert.equal((await api.ask('/query?q=web', { method: 'PUT' })).status, 405)
    assert.equal((await api.ask('/query/deeper?q=web')).status, 404)
    assert.equal((await api.ask('/query?q=web', { method: 'HEAD' })).status, 200)
  })
  const fleet = fleetOfTwo()
  const fail = (): Promise<never> => Promise.reject(new Error('/var/lib/secret-path is broken'))
  const store: SearchStore = { search: fail, count: fail, vocabulary: fail }
  const api = await Loopback.start(createQueryHandler({ store, cache: fleet.cache, clock: fleet.clock }))
  const { status, text } = await api.ask('/?q=web')
  assert.equal(status, 503)
  assert.equal(text.includes('secret-path'), false)
  await api.close()
  fleet.close()
})

test('a cluster of which nothing is cached is told as missing, not left out', async () => {
  const use = async ({ api }: Served): Promise<void> => {
    const { json, headers } = await api.ask('/query?q=kind:Pod')
    assert.equal(json.total, 0)
    assert.deepEqual(json.freshness, [{ cluster: 'dead', state: 'missing', ageSeconds: null }])
    assert.match(String(headers['warning']), /1 of 1 clusters is missing from this answer: dead/)
  }
  await withQuery(podFleet({}), use, { names: ['dead'] })
})

test('a total is no more than a bound while not everything is searchable yet', async () => {
  const fleet = podFleet({ member1: { objects: [pod('a', 'p')], version: 1 } })
  const use = async ({ query }: Served): Promise<void> => {
    const { total, totalIsExact, warnings } = await query({ q: 'kind:Pod' })
    assert.deepEqual([total, totalIsExact], [1, false])
    assert.match(warnings.at(-1), /not everything that is cached is searchable yet/)
  }
  await withQuery(fleet, use, { complete: false })
})

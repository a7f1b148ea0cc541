/**
 * What dashboards send beside searches of their own: as OpenSearch Dashboards 2 and 3 and Kibana 8 and 9 do for index
 * patterns, Discover, Visualize and Lens, filters and values as one types, over a real engine. The caller sees member1 alone.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BackendStore } from '../../src/backendstore/backend-store.ts'
import type { ApiHandler } from '../../src/http/api-request.ts'
import { createPassthroughHandler } from '../../src/search/passthrough/handler.ts'
import { ADMIN, Loopback, type Answer } from '../http/loopback.ts'
import { NODES, PODS as POD_RESOURCE, TestFleet } from '../proxy/fleet-fixture.ts'
import { EVERYTHING, FakeRights, NOTHING } from '../support/fake-rights.ts'
import { discoverBodies } from '../support/native-bodies.ts'
import { PODS, upsert } from './backend-store-suite.ts'
import { fill } from './fill.ts'

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any

interface Dashboard {
  readonly isElasticsearch: boolean
  ask(method: string, path: string, body?: object, user?: string): Promise<Answer>
}

/** Kibana's own parameters of a search that may take longer than its request. */
const ASYNC =
  'batched_reduce_size=64&ccs_minimize_roundtrips=true&ignore_unavailable=true&preference=1764&keep_alive=60000ms'
const CREATED = 'metadata.creationTimestamp'

export function dashboardRequests(opened: () => BackendStore): void {
  const seen = (name: string) => upsert(name, { created: '2026-11-29T00:00:00Z' })
  const hidden = (name: string, shard: object) => upsert(name, { shard: { ...PODS, ...shard, cluster: 'member2' } })

  async function withDashboard(use: (dashboard: Dashboard) => Promise<void>): Promise<void> {
    const store = opened()
    const { native } = store
    assert.ok(native !== undefined)
    await fill(store, [])
    await store.write([
      ...['web-1', 'web-2', 'db-0'].map(seen),
      hidden('web-secret', {}),
      hidden('secret-node', { kind: 'Node', resource: 'nodes' }),
    ])
    const isElasticsearch = (await native.version()).distribution === undefined
    const fleet = new TestFleet().register(POD_RESOURCE, 'Pod', true).register(NODES, 'Node', false)
    for (const cluster of ['member1', 'member2']) {
      fleet.shard(cluster, POD_RESOURCE)
      fleet.shard(cluster, NODES, 'Node', false)
    }
    const handler = createPassthroughHandler({
      engine: isElasticsearch ? 'elasticsearch' : 'opensearch',
      native: () => native,
      rights: new FakeRights({ member1: EVERYTHING, member2: NOTHING }),
      cache: fleet.cache,
      clock: fleet.clock,
    })
    const api = await Loopback.start(asUser(handler))
    try {
      await use({
        isElasticsearch,
        ask: (method, path, body, user = 'ann') => {
          const headers = { 'x-user': user, 'content-type': 'application/json' }
          return api.ask(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
        },
      })
      assert.deepEqual(api.faults, [])
    } finally {
      await api.close()
      fleet.close()
    }
  }

  async function json({ ask }: Dashboard, method: string, path: string, body?: object): Promise<Json> {
    const answer = await ask(method, path, body)
    assert.equal(answer.status, 200, `${path}: ${answer.text}`)
    assert.doesNotMatch(answer.text, /secret|fleetsearch\./)
    return answer.json
  }

  test('index patterns and data views: indices by pattern, fields, mapping', async () => {
    await withDashboard(async (dashboard) => {
      for (const pattern of ['*', 'kube*', 'kubernetes-p*,x*', 'kubernetes-pod']) {
        const { indices } = await json(dashboard, 'GET', `/_resolve/index/${pattern}?expand_wildcards=open`)
        assert.deepEqual(indices, [{ name: 'kubernetes-pod', attributes: ['open'] }], pattern)
      }
      assert.deepEqual((await json(dashboard, 'GET', '/_resolve/index/kubernetes-n*')).indices, [])
      const parameters = 'fields=*&ignore_unavailable=true&allow_no_indices=false&expand_wildcards=open&filters=-parent'
      const { fields } = await json(
        dashboard,
        'POST',
        `/kubernetes-*/_field_caps?${parameters}&include_empty_fields=true`,
      )
      assert.equal(fields[CREATED].date.aggregatable, true)
      await json(dashboard, 'GET', '/kubernetes-pod/_mapping')
    })
  })

  test('values as one types: of what the caller sees, by aggregation and by _terms_enum', async () => {
    await withDashboard(async (dashboard) => {
      const field = 'metadata.name.keyword'
      const body = (include: string): object => ({
        size: 0,
        timeout: '1000ms',
        terminate_after: 100_000,
        query: { bool: { filter: [] } },
        aggs: { suggestions: { terms: { field, include, execution_hint: 'map', shard_size: 10 } } },
      })
      for (const [include, names] of [
        ['web\\-.*', ['web-1', 'web-2']],
        ['.*', ['db-0', 'web-1', 'web-2']],
      ] as const) {
        const { aggregations } = await json(dashboard, 'POST', '/kubernetes-*/_search', body(include))
        assert.deepEqual(aggregations.suggestions.buckets.map(({ key }: Json) => key).toSorted(), names)
      }
      const ask = { field, string: 'WEB-', size: 10, case_insensitive: true, timeout: '1s' }
      const found = await json(dashboard, 'POST', '/kubernetes-*/_terms_enum', {
        ...ask,
        index_filter: { match_all: {} },
      })
      assert.deepEqual([found.terms, found.complete], [['web-1', 'web-2'], true])
      const exact = await json(dashboard, 'POST', '/kubernetes-*/_terms_enum', { ...ask, case_insensitive: false })
      assert.deepEqual(exact.terms, [])
    })
  })

  test('Visualize and Lens: typed keys, empty rows, bounds, totals as a number', async () => {
    await withDashboard(async (dashboard) => {
      const aggs = {
        0: {
          date_histogram: {
            field: CREATED,
            fixed_interval: '1d',
            time_zone: 'UTC',
            extended_bounds: {},
            min_doc_count: 0,
          },
          aggs: {
            1: { terms: { field: 'kind.keyword', order: { _count: 'desc' }, size: 5, shard_size: 25 } },
            2: { cardinality: { field: 'metadata.name.keyword' } },
          },
        },
        3: { filters: { filters: { web: { prefix: { 'metadata.name.keyword': 'web' } } } } },
      }
      const parameters =
        'typed_keys=true&rest_total_hits_as_int=true&ignore_unavailable=true&track_total_hits=true&preference=1'
      const answer = await json(dashboard, 'POST', `/kubernetes-*/_search?${parameters}`, { size: 0, aggs })
      assert.equal(answer.hits.total, 3)
      const [day] = answer.aggregations['date_histogram#0'].buckets
      assert.equal(day['sterms#1'].buckets[0].doc_count, 3)
      assert.equal(day['cardinality#2'].value, 3)
      assert.equal(answer.aggregations['filters#3'].buckets.web.doc_count, 2)
    })
  })

  test('_async_search of Elasticsearch: submitted, kept for who submitted it alone, deleted; OpenSearch has none', async () => {
    await withDashboard(async (dashboard) => {
      const { ask, isElasticsearch } = dashboard
      const { kibana } = discoverBodies({ match_all: {} })
      const path = `/kubernetes-*/_async_search?${ASYNC}&wait_for_completion_timeout=20s`
      if (!isElasticsearch) {
        const refused = await ask('POST', path, kibana)
        assert.deepEqual([refused.status, refused.json.error.type], [400, 'illegal_argument_exception'])
        return
      }
      const whole = await json(dashboard, 'POST', `${path}&keep_on_completion=false`, kibana)
      assert.deepEqual([whole.id, whole.is_running, whole.is_partial], [undefined, false, false])
      assert.equal(whole.response.hits.hits.length, 3)
      const kept = await json(dashboard, 'POST', `${path}&keep_on_completion=true`, kibana)
      assert.deepEqual(kept.response.hits, whole.response.hits)
      const at = `/_async_search/${kept.id}`
      const look = `${at}?wait_for_completion_timeout=200ms&keep_alive=60000ms`
      assert.deepEqual((await json(dashboard, 'GET', look)).response, kept.response)
      assert.equal((await json(dashboard, 'GET', `/_async_search/status/${kept.id}`)).completion_status, 200)
      for (const method of ['GET', 'DELETE']) {
        const other = await ask(method, at, undefined, 'bob')
        const none = await ask(method, '/_async_search/none', undefined, 'bob')
        assert.equal(other.status, 404)
        assert.equal(other.json.error.type, 'resource_not_found_exception')
        assert.deepEqual(other.json, none.json)
      }
      assert.deepEqual(await json(dashboard, 'DELETE', at), { acknowledged: true })
      assert.equal((await ask('GET', at)).status, 404)
    })
  })

  test('what is refused is told as engines tell it', async () => {
    await withDashboard(async ({ ask }) => {
      for (const [method, path, status, type] of [
        ['POST', '/kubernetes-*/_pit?keep_alive=1m', 404, 'resource_not_found_exception'],
        ['POST', '/kubernetes-*/_search?scroll=1m', 400, 'illegal_argument_exception'],
        ['POST', '/_plugins/_asynchronous_search', 404, 'resource_not_found_exception'],
        ['PUT', '/kubernetes-pod/_doc/a', 405, 'status_exception'],
      ] as const) {
        const refused = await ask(method, path, {})
        assert.equal(refused.status, status, path)
        const { error } = refused.json
        assert.deepEqual(
          [refused.json.status, error.type, error.root_cause],
          [status, type, [{ type, reason: error.reason }]],
        )
      }
    })
  })
}

function asUser(handler: ApiHandler): ApiHandler {
  return (request, response) =>
    handler({ ...request, user: { ...ADMIN, name: String(request.incoming.headers['x-user']) } }, response)
}

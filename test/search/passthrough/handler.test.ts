import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isStatusError } from '../../../src/kube/status-error.ts'
import type { NativeAnswer, NativeRequest, NativeSearch } from '../../../src/query/native-search.ts'
import { createPassthroughHandler } from '../../../src/search/passthrough/handler.ts'
import { readNativeSearch } from '../../../src/search/passthrough/read-search.ts'
import { Loopback, type Answer } from '../../http/loopback.ts'
import { podFleet } from '../../proxy/fleet-fixture.ts'
import { nativeBodyArbitrary } from '../../support/native-bodies.ts'

const HIT = { _index: 'kubernetes-pod', _id: 'a', _source: { kind: 'Pod' }, sort: ['web', 'tie'] }
const FOUND: NativeAnswer = { took: 3, timed_out: false, total: { value: 1, relation: 'eq' }, hits: [HIT] }

interface Served {
  readonly api: Loopback
  readonly asked: NativeRequest[]
  post(path: string, body: unknown, type?: string): Promise<Answer>
}

async function serving(use: (served: Served) => Promise<void>, answer: NativeAnswer = FOUND): Promise<void> {
  const fleet = podFleet({ member1: { objects: [], version: 1 } })
  const asked: NativeRequest[] = []
  const native: NativeSearch = {
    search: (request) => {
      asked.push(request)
      return Promise.resolve(answer)
    },
    version: () => Promise.resolve({ number: '8.17.1' }),
  }
  const api = await Loopback.start(
    createPassthroughHandler({ cache: fleet.cache, clock: fleet.clock, engine: 'elasticsearch', native: () => native }),
  )
  const post: Served['post'] = (path, body, type = 'application/json') =>
    api.ask(path, {
      method: 'POST',
      headers: { 'content-type': type },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  try {
    await use({ api, asked, post })
    assert.deepEqual(api.faults, [])
  } finally {
    await api.close()
    fleet.close()
  }
}

/** What is refused, and the path that the answer must name. */
const REFUSED: readonly (readonly [object, string])[] = [
  [{ query: { script: {} } }, 'query.script'],
  [{ query: { query_string: { query: '*' } } }, 'query.query_string'],
  [{ query: { bool: { must: [{ match_all: {} }, { more_like_this: {} }] } } }, 'query.bool.must[1].more_like_this'],
  [{ query: { terms: { kind: { index: 'x', id: '1', path: 'y' } } } }, 'query.terms.kind'],
  [{ query: { term: { 'fleetsearch.rights': 'x' } } }, 'query.term.fleetsearch.rights'],
  [{ query: { exists: { field: 'fleetsearch.tie' } } }, 'query.exists.field'],
  [{ query: { term: { spec: 'x' } } }, 'query.term.spec'],
  [{ query: { wildcard: { 'kind.keyword': '*'.repeat(300) } } }, 'query.wildcard.kind.keyword'],
  [{ query: { term: { a: 1 }, match_all: {} } }, 'query'],
  [{ query: { range: { 'metadata.creationTimestamp': { gte: 'now', relation: 'within' } } } }, 'relation'],
  [{ query: { match: { 'metadata.name': { query: 'a', fuzziness: 'AUTO' } } } }, 'fuzziness'],
  [{ query: { bool: { must: { bool: [] } } } }, 'query.bool.must.bool'],
  [{ query: JSON.parse('{"__proto__": {}}') as object }, '__proto__'],
  [{ query: { constructor: {} } }, 'query.constructor'],
  [{ aggs: { a: { global: {} } } }, 'aggs.a.global'],
  [{ aggs: { a: { significant_terms: { field: 'kind.keyword' } } } }, 'aggs.a.significant_terms'],
  [{ aggs: { a: { terms: { field: 'kind.keyword', min_doc_count: 0 } } } }, 'aggs.a.terms.min_doc_count'],
  [{ aggs: { a: { terms: { field: 'kind.keyword', include: '.*web' } } } }, 'aggs.a.terms.include'],
  [{ aggs: { a: { terms: { script: 'x' } } } }, 'aggs.a.terms.script'],
  [{ aggs: { a: { terms: { field: 'fleetsearch.labels' } } } }, 'aggs.a.terms.field'],
  [{ aggs: { a: { scripted_metric: {} } } }, 'aggs.a.scripted_metric'],
  [{ aggs: { a: { top_hits: { size: 101 } } } }, 'aggs.a.top_hits.size'],
  [{ aggs: { a: { top_hits: { script_fields: {} } } } }, 'aggs.a.top_hits.script_fields'],
  [{ aggs: { a: { top_hits: { highlight: { fields: { kind: {} } } } } } }, 'aggs.a.top_hits.highlight'],
  [{ script_fields: { a: { script: 'x' } } }, 'script_fields.a'],
  [{ runtime_mappings: { a: { type: 'long' } } }, 'runtime_mappings.a'],
  [{ docvalue_fields: [{ field: 'kind.keyword', format: '0.00' }] }, 'docvalue_fields[0].format'],
  [{ highlight: { fields: { kind: { highlight_query: {} } } } }, 'highlight.fields.kind.highlight_query'],
  [{ highlight: { fields: { 'fleetsearch.text.name': {} } } }, 'highlight.fields.fleetsearch.text.name'],
  [{ highlight: { type: 'fvh', fields: {} } }, 'highlight.type'],
  [{ highlight: { fields: { kind: {} }, pre_tags: ['x'.repeat(101)] } }, 'highlight.pre_tags[0]'],
  [{ aggs: { a: { filter: { script: {} } } } }, 'aggs.a.filter.script'],
  [{ aggs: { a: { sum: { field: 'kind.keyword' } } } }, 'aggs.a.sum'],
  [{ aggs: { 'a>b': { min: { field: 'metadata.creationTimestamp' } } } }, 'aggs.a>b'],
  [{ sort: [{ _script: {} }] }, 'sort[0]._script'],
  [{ sort: ['_id'] }, 'sort[0]'],
  [{ size: 1_001 }, 'size'],
  [{ size: -1 }, 'size'],
  [{ from: 9_995, size: 10 }, 'search_after'],
  [{ search_after: ['a', 'b'] }, 'search_after'],
  ...['suggest', 'scroll', 'pit', 'profile', 'explain', 'rescore', 'collapse']
    .concat(['seq_no_primary_term', 'indices_boost', 'ext', 'min_score', 'slice', 'knn', 'rank'])
    .map((name) => [{ [name]: {} }, name] as const),
]

describe('the passthrough', () => {
  it('refuses what is not known to be harmless, by its path, and asks nobody', async () => {
    await serving(async ({ post, asked }) => {
      for (const [body, path] of REFUSED) {
        const answer = await post('/kubernetes-pod/_search', body)
        assert.equal(answer.status, 400, `${JSON.stringify(body)} ${answer.text}`)
        assert.ok(answer.json.error.reason.includes(path), `${JSON.stringify(body)}: ${answer.json.error.reason}`)
      }
      assert.deepEqual(asked, [])
    })
  })

  it('refuses what is nested or counts without end', () => {
    const nested = (depth: number): object => (depth === 0 ? { match_all: {} } : { bool: { must: nested(depth - 1) } })
    assert.doesNotThrow(() => readNativeSearch({ query: nested(15) }))
    const many = { bool: { should: Array.from({ length: 513 }, () => ({ match_all: {} })) } }
    const deep = {
      aggs: {
        a: {
          filter: { match_all: {} },
          aggs: {
            a: {
              filter: { match_all: {} },
              aggs: {
                a: {
                  filter: { match_all: {} },
                  aggs: {
                    a: { filter: { match_all: {} }, aggs: { a: { max: { field: 'metadata.creationTimestamp' } } } },
                  },
                },
              },
            },
          },
        },
      },
    }
    const wide = {
      aggs: Object.fromEntries(
        Array.from({ length: 33 }, (_, i) => [`a${i}`, { value_count: { field: 'kind.keyword' } }]),
      ),
    }
    for (const body of [{ query: nested(16) }, { query: many }, deep, wide]) {
      assert.throws(
        () => readNativeSearch(body),
        (error) => isStatusError(error, 'badRequest'),
      )
    }
  })

  it('lets through nothing but what it was asked for: reading what was read changes nothing', () => {
    fc.assert(
      fc.property(nativeBodyArbitrary, (body) => {
        const { searchAfter: _, trackTotalHits, aggregations, source, docvalueFields, ...read } = readNativeSearch(body)
        const again = readNativeSearch({
          ...read,
          track_total_hits: trackTotalHits,
          ...(aggregations === undefined ? {} : { aggs: aggregations }),
          ...(source === undefined ? {} : { _source: source }),
          ...(docvalueFields === undefined ? {} : { docvalue_fields: docvalueFields }),
        })
        assert.deepEqual(again, readNativeSearch(body))
      }),
      { numRuns: 500 },
    )
  })

  it('refuses any other JSON as the fault of who asks', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc.json().map((text) => `{"query":${text}}`),
          fc.json().map((text) => `{"aggs":{"a":${text}}}`),
        ),
        (text) => {
          try {
            readNativeSearch(JSON.parse(text))
          } catch (error) {
            assert.ok(isStatusError(error, 'badRequest'), String(error))
          }
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('speaks as the engine does', async () => {
    await serving(async ({ api, post, asked }) => {
      const search = await post('/kubernetes-pod,kubernetes-node/_search', {
        query: { term: { 'kind.keyword': 'Pod' } },
        sort: ['kind.keyword'],
      })
      assert.equal(search.status, 200)
      assert.equal(search.headers['x-elastic-product'], 'Elasticsearch')
      assert.deepEqual(search.json.hits.hits, [
        { _index: 'kubernetes-pod', _id: 'a', _score: null, _source: { kind: 'Pod' }, sort: ['web', 'tie'] },
      ])
      assert.deepEqual(search.json.hits.total, { value: 1, relation: 'eq' })
      assert.deepEqual(asked[0]?.kinds, ['pod', 'node'])
      assert.deepEqual(asked[0]?.query, { term: { 'kind.keyword': { value: 'Pod' } } })

      assert.deepEqual((await api.ask('/_search?size=0')).json.hits.hits[0]._id, 'a')
      assert.deepEqual([asked[1]?.kinds, asked[1]?.size], [undefined, 0])
      const source = encodeURIComponent('{"query":{"match_all":{}},"size":7}')
      assert.equal((await api.ask(`/_search?source=${source}&source_content_type=application%2Fjson`)).status, 200)
      assert.equal(asked.pop()?.size, 7)
      assert.equal((await api.ask('/proxy/kubernetes-*/_count')).json.count, 1)
      assert.deepEqual([asked[2]?.kinds, asked[2]?.trackTotalHits], [undefined, true])
      assert.deepEqual((await api.ask('/kubernetes-pod/_doc/a%2Fb')).json, {
        _index: 'kubernetes-pod',
        _id: 'a',
        found: true,
        _source: { kind: 'Pod' },
      })
      assert.deepEqual(asked[3]?.query, { ids: { values: ['a/b'] } })
      assert.deepEqual((await api.ask('/kubernetes-pod/_source/a')).json, { kind: 'Pod' })
      assert.deepEqual((await api.ask('/')).json.version, { number: '8.17.1' })
      const mapping = (await api.ask('/kubernetes-pod/_mapping')).json
      assert.equal(mapping['kubernetes-pod'].mappings.properties.metadata.properties.labels.type, 'flattened')
      assert.ok('kind.keyword' in (await api.ask('/_field_caps?fields=*')).json.fields)

      const lines = ['{"index":"kubernetes-pod"}', '{"size":1}', '{}', '{"scroll":"1m"}', ''].join('\n')
      const several = (await post('/_msearch', lines, 'application/vnd.elasticsearch+x-ndjson; compatible-with=8')).json
      assert.deepEqual(
        several.responses.map(({ status }: { status: number }) => status),
        [200, 400],
      )
    })
  })

  it('finds no document that is not there, and says so as the engine does', async () => {
    await serving(
      async ({ api }) => {
        const answer = await api.ask('/kubernetes-pod/_doc/a')
        assert.equal(answer.status, 404)
        assert.deepEqual(answer.json, { _index: 'kubernetes-pod', _id: 'a', found: false })
      },
      { ...FOUND, hits: [] },
    )
  })

  it('refuses buckets that multiply, and documents in them, beyond a bound', () => {
    const terms = (size: number, aggs?: object): object => ({
      a: { terms: { field: 'kind.keyword', size }, ...(aggs === undefined ? {} : { aggs }) },
    })
    const refusals: readonly [object, RegExp][] = [
      [terms(10_000, terms(10)), /aggs: up to 110000 buckets; at most 65536/],
      [terms(100, terms(100, terms(10))), /up to 110100 buckets/],
      [
        terms(500, {
          b: { date_histogram: { field: 'metadata.creationTimestamp', fixed_interval: '1s' } },
          ...terms(200),
        }),
        /up to 150500 buckets/,
      ],
      [terms(101, { b: { top_hits: { size: 100 } } }), /top_hits of up to 10100 documents; at most 10000/],
    ]
    for (const [aggs, message] of refusals) assert.throws(() => readNativeSearch({ aggs }), message)
    for (const aggs of [terms(10_000), terms(100, terms(100)), terms(100, { b: { top_hits: { size: 100 } } })]) {
      assert.doesNotThrow(() => readNativeSearch({ aggs }))
    }
  })

  it('gets several documents in the order asked for, with those that are not there', async () => {
    await serving(async ({ post, asked }) => {
      const { status, json } = await post('/kubernetes-pod/_mget', { ids: ['b', 'a'] })
      assert.equal(status, 200)
      assert.deepEqual(json.docs, [
        { _index: 'kubernetes-pod', _id: 'b', found: false },
        { _index: 'kubernetes-pod', _id: 'a', found: true, _source: { kind: 'Pod' } },
      ])
      assert.deepEqual(
        [asked[0]?.query, asked[0]?.size, asked[0]?.kinds],
        [{ ids: { values: ['b', 'a'] } }, 2, ['pod']],
      )
      const docs = [
        { _index: 'kubernetes-node', _id: 'a' },
        { _index: 'kubernetes-pod', _id: 'a' },
        { _index: 'kubernetes-node', _id: 'c' },
      ]
      const several = await post('/_mget', { docs })
      assert.deepEqual(
        several.json.docs.map(({ found }: { found: boolean }) => found),
        [true, true, false],
      )
      assert.deepEqual(
        asked.slice(1).map(({ kinds, query }) => [kinds, query]),
        [
          [['node'], { ids: { values: ['a', 'c'] } }],
          [['pod'], { ids: { values: ['a'] } }],
        ],
      )
      for (const [body, path] of [
        [{}, 'ids or docs'],
        [{ docs: [{ _index: '.kibana', _id: 'a' }] }, '.kibana'],
        [{ docs: [{ _index: 'kubernetes-pod' }] }, 'docs[0]'],
        [{ docs: [{ _id: 'a', routing: 'x' }] }, 'docs[0].routing'],
        [{ ids: Array.from({ length: 1_001 }, (_, i) => `${i}`) }, 'ids'],
      ] as const) {
        const refused = await post('/_mget', body)
        assert.equal(refused.status, 400)
        assert.ok(refused.json.error.reason.includes(path), refused.json.error.reason)
      }
    })
  })

  it('lists the indices of kinds that the caller sees, as text and as JSON', async () => {
    const buckets = [
      { key: 'Service', doc_count: 3 },
      { key: 'Pod', doc_count: 12 },
      { key: 'SERVICE', doc_count: 2 },
    ]
    await serving(
      async ({ api, asked }) => {
        assert.deepEqual(JSON.parse((await api.ask('/_cat/indices?format=json')).text), [
          { health: 'green', status: 'open', index: 'kubernetes-pod', 'docs.count': '12' },
          { health: 'green', status: 'open', index: 'kubernetes-service', 'docs.count': '5' },
        ])
        const text = await api.ask('/proxy/_cat/indices/kubernetes-pod?v&h=index,docs.count')
        assert.equal(text.headers['content-type'], 'text/plain; charset=UTF-8')
        assert.equal(text.text, 'index              docs.count\nkubernetes-pod     12\nkubernetes-service 5\n')
        assert.deepEqual(asked[1]?.kinds, ['pod'])
        for (const query of ['h=store.size', 's=index', 'bytes=b']) {
          assert.equal((await api.ask(`/_cat/indices?${query}`)).status, 400, query)
        }
      },
      { ...FOUND, hits: [], aggregations: { kinds: { buckets } } },
    )
  })

  it('says how fresh each cluster is', async () => {
    await serving(async ({ api }) => {
      const { headers } = await api.ask('/kubernetes-pod/_search')
      assert.match(String(headers['fleetsearch-freshness']), /^member1;live;/)
    })
  })

  it('has totals as numbers for clients that are older', async () => {
    await serving(async ({ api }) => {
      assert.equal((await api.ask('/_search?rest_total_hits_as_int=true')).json.hits.total, 1)
    })
  })

  it('has no other paths, indices, methods, parameters and bodies', async () => {
    await serving(async ({ api, post, asked }) => {
      const native = await api.ask('/api/v1/pods')
      assert.equal(native.status, 404)
      assert.match(native.json.error.reason, /search\/cache\/api\/v1\/pods/)
      for (const path of [
        '/_cat/nodes',
        '/_cat/indices/kubernetes-pod/x',
        '/_cluster/health',
        '/kubernetes-pod',
        '/kubernetes-pod/_update/a',
        '/_bulk',
        '/a/b/c/d',
        '/_search/scroll',
        '/_search/template',
      ]) {
        assert.equal((await api.ask(path)).status, 404, path)
      }
      for (const index of [
        '.kibana',
        'fleetsearch-x',
        'kubernetes-',
        'kubernetes-pod,.security',
        '-kubernetes-pod',
        'kubernetes-p*',
        '%3Ckubernetes-%7Bnow%7D%3E',
        'remote:kubernetes-pod',
        '%zz',
      ]) {
        assert.equal((await api.ask(`/${index}/_search`)).status, 400, index)
      }
      for (const method of ['PUT', 'DELETE', 'PATCH'])
        assert.equal((await api.ask('/kubernetes-pod/_doc/a', { method })).status, 405)
      for (const query of [
        'q=a',
        'source=%7B%22suggest%22%3A1%7D',
        'source=x',
        'scroll=1m',
        'size=abc',
        'routing=1',
        'typed=true',
      ]) {
        assert.equal((await api.ask(`/_search?${query}`)).status, 400, query)
      }
      assert.equal((await post('/_search', 'no json')).status, 400)
      assert.equal((await post('/_search', '[1]')).status, 400)
      assert.equal((await post('/_search', '{}', 'text/plain')).status, 415)
      assert.equal((await post('/_search', JSON.stringify({ query: 'x'.repeat(1_100_000) }))).status, 413)
      assert.equal((await post('/_msearch', '{}\n')).status, 400)
      assert.equal((await post('/_msearch', '{}\n{}\n'.repeat(51))).status, 400)
      assert.deepEqual(asked, [])
    })
  })

  it('says where nothing is kept in such an engine', async () => {
    const fleet = podFleet({})
    const api = await Loopback.start(
      createPassthroughHandler({
        cache: fleet.cache,
        clock: fleet.clock,
        engine: 'opensearch',
        native: () => undefined,
      }),
    )
    const answer = await api.ask('/_search')
    assert.equal(answer.status, 501)
    assert.match(answer.json.error.reason, /search\/query/)
    await api.close()
    fleet.close()
  })
})

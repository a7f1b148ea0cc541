/** Arbitrary searches in the language of engines, all of allowed pieces, over the world of `query-objects.ts`. */
import fc from 'fast-check'

const one = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values)

const VALUES: Readonly<Record<string, readonly string[]>> = {
  'kind.keyword': ['Pod', 'Node', 'ConfigMap', 'Widget', 'Nothing'],
  'metadata.name.keyword': ['web', 'web-1', 'Web', 'db-0', 'a.b', 'zzz'],
  'metadata.namespace.keyword': ['shop', 'shop-eu', 'a', 'none'],
  'apiVersion.keyword': ['v1', 'example.io/v1beta1'],
}
const LABELS = ['metadata.labels.app', 'metadata.labels.tier', 'metadata.labels.app.kubernetes.io/name']
const CREATED = 'metadata.creationTimestamp'

const keyword = one(...Object.keys(VALUES))
const exact = keyword.chain((field) => one(...(VALUES[field] ?? [])).map((value) => ({ term: { [field]: value } })))
const label = fc.record({ field: one(...LABELS), value: one('web', 'Web', 'db', '7') })

const leaf: fc.Arbitrary<object> = fc.oneof(
  exact,
  keyword.chain((field) =>
    fc.subarray([...(VALUES[field] ?? [])], { minLength: 1 }).map((values) => ({ terms: { [field]: values } })),
  ),
  keyword.map((field) => ({ exists: { field } })),
  label.map(({ field, value }) => ({ term: { [field]: { value } } })),
  one(...LABELS).map((field) => ({ exists: { field } })),
  fc
    .record({ field: keyword, value: one('w', 'sh', 'Po', 'v1') })
    .map(({ field, value }) => ({ prefix: { [field]: value } })),
  fc
    .record({ field: keyword, value: one('*e*', 'w?b', '*') })
    .map(({ field, value }) => ({ wildcard: { [field]: value } })),
  one('2026-11-29T00:00:00Z', '2025-01-01').map((time) => ({ range: { [CREATED]: { gte: time } } })),
  one('web', 'shop eu', 'Web-1').map((text) => ({ match: { 'metadata.name': { query: text, operator: 'or' } } })),
  one('web', 'shop-eu').map((text) => ({ match_phrase: { 'metadata.namespace': text } })),
  one('shop web', 'pod').map((text) => ({ multi_match: { query: text, fields: ['kind', 'metadata.name'] } })),
  one({ match_all: {} }, { match_none: {} }),
)

const query: fc.Arbitrary<object> = fc.letrec<{ query: object }>((tie) => ({
  query: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc
      .record({
        must: fc.array(tie('query'), { maxLength: 2 }),
        should: fc.array(tie('query'), { maxLength: 2 }),
        must_not: fc.array(leaf, { maxLength: 1 }),
      })
      .map((bool) => ({ bool })),
    tie('query').map((filter) => ({ constant_score: { filter } })),
  ),
})).query

const order = one<object>({ _key: 'asc' }, { _count: 'desc' }, { _key: 'desc' })
const bucketed: fc.Arbitrary<object> = fc.oneof(
  fc.record({ field: keyword, size: one(1, 3, 50), order }).map((terms) => ({ terms })),
  one('day', 'month').map((calendar_interval) => ({ date_histogram: { field: CREATED, calendar_interval } })),
  leaf.map((filter) => ({ filter })),
  fc.record({ a: leaf, b: leaf }).map((filters) => ({ filters: { filters, other_bucket: true } })),
  keyword.map((field) => ({ missing: { field } })),
  keyword.map((field) => ({ composite: { size: 4, sources: [{ by: { terms: { field } } }] } })),
)
const metric: fc.Arbitrary<object> = fc.oneof(
  fc
    .record({ size: one(1, 3), sort: one<object[]>([], [{ 'metadata.name.keyword': 'desc' }]) })
    .map((top) => ({ top_hits: { ...top, _source: ['metadata.name'] } })),
  keyword.map((field) => ({ cardinality: { field } })),
  keyword.map((field) => ({ value_count: { field } })),
  one({ min: { field: CREATED } }, { max: { field: CREATED } }),
)
const aggregations: fc.Arbitrary<object> = fc.dictionary(
  one('a', 'b'),
  fc.oneof(
    metric,
    fc
      .tuple(
        bucketed,
        fc.option(fc.dictionary(one('c', 'd'), fc.oneof(metric, bucketed), { maxKeys: 2 }), { nil: undefined }),
      )
      .map(([outer, aggs]) => (aggs === undefined ? outer : { ...outer, aggs })),
  ),
  { maxKeys: 2 },
)

export const nativeBodyArbitrary: fc.Arbitrary<object> = fc.record(
  {
    query,
    size: one(0, 2, 50),
    from: one(0, 1),
    sort: fc
      .array(fc.record({ field: fc.oneof(keyword, fc.constant(CREATED)), order: one('asc', 'desc') }), { maxLength: 2 })
      .map((sorts) => sorts.map(({ field, order: direction }) => ({ [field]: direction }))),
    _source: one<unknown>(true, false, ['metadata.name'], { excludes: ['spec', 'status'] }),
    track_total_hits: one<unknown>(true, 5),
    aggs: aggregations,
    fields: one<unknown>(['*'], [{ field: 'metadata.*', format: 'epoch_millis' }], ['metadata.name', 'spec']),
    docvalue_fields: one<unknown>(['kind.keyword'], [{ field: 'metadata.creationTimestamp', format: 'date_time' }]),
    stored_fields: one<unknown>(['*'], ['_source']),
    highlight: one<unknown>(
      { fields: { '*': {} } },
      { pre_tags: ['<'], post_tags: ['>'], fields: { 'metadata.name': {} } },
    ),
  },
  { requiredKeys: [] },
)

/** What Discover of OpenSearch Dashboards 2 and Kibana 8 send for an index pattern with a time field and a query. */
export function discoverBodies(query: object): { readonly dashboards: object; readonly kibana: object } {
  const time = 'metadata.creationTimestamp'
  const range = {
    range: {
      [time]: { gte: '2000-01-01T00:00:00.000Z', lte: '2100-01-01T00:00:00.000Z', format: 'strict_date_optional_time' },
    },
  }
  const bool = { bool: { must: [], filter: [query, range], should: [], must_not: [] } }
  const highlight = (tag: string): object => ({
    pre_tags: [`@${tag}@`],
    post_tags: [`@/${tag}@`],
    fields: { '*': {} },
    fragment_size: 2_147_483_647,
  })
  return {
    dashboards: {
      sort: [{ [time]: { order: 'desc', unmapped_type: 'boolean' } }],
      size: 500,
      version: true,
      aggs: { 2: { date_histogram: { field: time, fixed_interval: '30d', time_zone: 'UTC', min_doc_count: 1 } } },
      stored_fields: ['*'],
      script_fields: {},
      docvalue_fields: [
        { field: time, format: 'date_time' },
        { field: 'metadata.deletionTimestamp', format: 'date_time' },
      ],
      _source: { excludes: [] },
      query: bool,
      highlight: highlight('opensearch-dashboards-highlighted-field'),
    },
    kibana: {
      sort: [
        { [time]: { order: 'desc', format: 'strict_date_optional_time', unmapped_type: 'boolean' } },
        { _doc: { order: 'desc', unmapped_type: 'boolean' } },
      ],
      track_total_hits: false,
      fields: [
        { field: '*', include_unmapped: true },
        { field: time, format: 'strict_date_optional_time' },
      ],
      size: 500,
      version: true,
      script_fields: {},
      stored_fields: ['*'],
      runtime_mappings: {},
      _source: false,
      query: bool,
      highlight: highlight('kibana-highlighted-field'),
    },
  }
}

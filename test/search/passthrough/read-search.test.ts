import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { discoverBodies } from '../../support/native-bodies.ts'
import { readNativeCount, readNativeSearch } from '../../../src/search/passthrough/read-search.ts'

/** As dashboards send them. */
const FULL = {
  query: {
    bool: {
      must: [{ match_all: {} }, { match: { 'metadata.name': { query: 'web one', operator: 'and' } } }],
      filter: {
        bool: {
          should: [
            { term: { 'kind.keyword': 'Pod' } },
            { terms: { 'metadata.namespace.keyword': ['a', 'b'], boost: 2 } },
            { match_phrase: { kind: 'Pod' } },
            { multi_match: { type: 'best_fields', query: 'web', fields: ['metadata.name'] } },
            { prefix: { 'metadata.name.keyword': { value: 'w' } } },
            { wildcard: { 'metadata.name.keyword': 'w*b' } },
            { range: { 'metadata.creationTimestamp': { gte: 'now-1d', format: 'strict_date_optional_time' } } },
            { exists: { field: 'metadata.labels.app' } },
            { ids: { values: ['a', 'b'] } },
            { constant_score: { filter: { match_none: {} }, boost: 1.5 } },
          ],
          minimum_should_match: 1,
        },
      },
      must_not: [],
    },
  },
  aggs: {
    kinds: {
      terms: { field: 'kind.keyword', size: 20, order: { _count: 'desc' }, min_doc_count: 1 },
      aggs: { names: { cardinality: { field: 'metadata.name.keyword' } } },
    },
    days: { date_histogram: { field: 'metadata.creationTimestamp', calendar_interval: '1d', time_zone: 'UTC' } },
    some: { filters: { filters: { web: { term: { 'metadata.name': 'web' } } } } },
    pages: { composite: { size: 5, sources: [{ ns: { terms: { field: 'metadata.namespace.keyword' } } }] } },
    last: { max: { field: 'metadata.creationTimestamp' } },
  },
  sort: [{ 'metadata.creationTimestamp': { order: 'desc', unmapped_type: 'boolean' } }],
  size: 500,
  _source: { includes: ['metadata.*'], excludes: ['spec'] },
}

function refusal(body: unknown): string {
  try {
    readNativeSearch(body)
  } catch (error) {
    assert.equal((error as { code?: unknown }).code, 'badRequest', String(error))
    return (error as Error).message
  }
  throw new Error(`not refused: ${JSON.stringify(body)}`)
}

test('what Discover sends is let through, and names none of our fields', () => {
  const { dashboards, kibana } = discoverBodies({ multi_match: { type: 'best_fields', query: 'web', lenient: true } })
  const classic = readNativeSearch(dashboards)
  assert.deepEqual(classic.source, { excludes: [] })
  const modern = readNativeSearch(kibana)
  assert.deepEqual([modern.source, modern.sort.length, modern.trackTotalHits], [false, 1, false])
  const text = JSON.stringify([classic, modern])
  assert.doesNotMatch(text, /\*|fleetsearch|"_doc"|"_score"/)
  assert.match(
    text,
    /"multi_match":\{"query":"web","fields":\["apiVersion","kind","metadata.name","metadata.namespace"\]/,
  )
})

test('what dashboards send is let through', () => {
  const { query, aggregations, size } = readNativeSearch(FULL)
  assert.equal(size, 500)
  assert.match(JSON.stringify(query), /"wildcard":\{"metadata.name.keyword":\{"value":"w\*b"\}\}/)
  assert.deepEqual(Object.keys(aggregations ?? {}), Object.keys(FULL.aggs))
})

test('what is not on the list is refused with its path', () => {
  const field = 'kind.keyword'
  const cases: [object, string][] = [
    ...['suggest', 'pit', 'profile', 'explain', 'rescore', 'collapse', 'min_score', 'indices_boost', 'fields'].map(
      (name): [object, string] => [{ [name]: {} }, name],
    ),
    [{ script_fields: { x: { script: '1' } } }, 'script_fields.x'],
    [{ runtime_mappings: { x: {} } }, 'runtime_mappings.x'],
    [{ stored_fields: ['fleetsearch.rights'] }, 'stored_fields[0]'],
    [{ query: { bool: { filter: [{ script: {} }] } } }, 'query.bool.filter[0].script'],
    [{ query: { query_string: { query: 'fleetsearch.rights:*' } } }, 'query.query_string'],
    [{ query: { regexp: { kind: 'a' } } }, 'query.regexp'],
    [{ query: { match_phrase_prefix: { kind: 'a' } } }, 'query.match_phrase_prefix'],
    [{ query: { constructor: {} } }, 'query.constructor'],
    [{ query: { terms: { [field]: { index: 'x', id: '1', path: 'y' } } } }, 'query.terms.kind.keyword'],
    [{ query: { term: { 'fleetsearch.rights': 'x' } } }, 'query.term.fleetsearch.rights'],
    [{ query: { term: { _id: 'x' } } }, 'query.term._id'],
    [{ query: { exists: { field: 'fleetsearch.hash' } } }, 'query.exists.field'],
    [{ query: { multi_match: { query: 'x', fields: ['fleetsearch.*'] } } }, 'query.multi_match.fields[0]'],
    [{ query: { match: { kind: { query: 'x', fuzziness: 2 } } } }, 'query.match.kind.fuzziness'],
    [{ query: { wildcard: { [field]: '*a*b*c*d*e*f*g*h*i' } } }, 'query.wildcard.kind.keyword'],
    [{ aggs: { x: { global: {} } } }, 'aggs.x.global'],
    [{ aggs: { x: { significant_terms: {} } } }, 'aggs.x.significant_terms'],
    [{ aggs: { x: { terms: { field, min_doc_count: 0 } } } }, 'aggs.x.terms.min_doc_count'],
    [{ aggs: { x: { terms: { field: 'fleetsearch.words' } } } }, 'aggs.x.terms.field'],
    [{ aggs: { x: { terms: { field, include: '.*web' } } } }, 'aggs.x.terms.include'],
    [{ aggs: { x: { terms: { field, size: 10_001 } } } }, 'aggs.x.terms.size'],
    [{ sort: 'spec' }, 'sort'],
    [{ sort: [{ _script: {} }] }, 'sort[0]._script'],
    [{ sort: [{ 'fleetsearch.tie': 'asc' }] }, 'sort[0].fleetsearch.tie'],
    [{ size: -1 }, 'size'],
  ]
  for (const [body, path] of cases) assert.ok(refusal(body).startsWith(`${path}: `), `${path}: ${refusal(body)}`)
  assert.throws(() => readNativeCount({ query: { match_all: {} }, size: 1 }), /^StatusError: size: /)
  for (const body of [[], 'x', 7]) assert.match(refusal(body), /^the body: /)
})

test('a query nested without end is refused', () => {
  let deep: object = { match_all: {} }
  for (let i = 0; i < 50_000; i++) deep = { bool: { filter: deep } }
  assert.match(refusal({ query: deep }), /nested deeper than 16$/)
})

function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return []
  const below = Object.values(value).flatMap(objectsIn)
  return Array.isArray(value) ? below : [value as Record<string, unknown>, ...below]
}

test('whatever is put into a request, nothing that is not on the list comes out', () => {
  const places = objectsIn(FULL).length
  const key = fc.oneof(
    fc.constantFrom('script', 'fleetsearch.rights', '_index', 'index', 'global', 'inner_hits', '__proto__', 'pit'),
    fc.string({ minLength: 1, maxLength: 12 }).map((name) => `!${name}`),
  )
  const put = fc.oneof(
    fc.constant({ source: 'marked' }),
    fc.constant({ marked: {} }),
    fc.constant({ field: 'fleetsearch.marked' }),
    fc.jsonValue().map((value) => ({ marked: value })),
  )
  fc.assert(
    fc.property(fc.nat(places - 1), key, put, (place, name, value) => {
      const body = structuredClone(FULL)
      const target = objectsIn(body)[place] as Record<string, unknown>
      Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
      assert.notEqual(refusal(body), '')
    }),
    { numRuns: 1_000 },
  )
})

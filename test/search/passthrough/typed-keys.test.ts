import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isStatusError } from '../../../src/kube/status-error.ts'
import { readAggregations } from '../../../src/search/passthrough/read-aggregations.ts'
import { Piece } from '../../../src/search/passthrough/piece.ts'
import { readTermsEnum } from '../../../src/search/passthrough/terms-enum.ts'
import { withTypedKeys } from '../../../src/search/passthrough/typed-keys.ts'

test('typed keys at every depth: in lists of buckets, in named ones, in the only one', () => {
  const name = { terms: { field: 'metadata.name.keyword' } }
  const asked = {
    times: { terms: { field: 'metadata.creationTimestamp' }, aggs: { names: name } },
    which: { filters: { filters: {} }, aggs: { names: name } },
    one: { filter: {}, aggs: { first: { min: { field: 'metadata.creationTimestamp' } } } },
  }
  const names = { buckets: [{ key: 'a', doc_count: 1 }] }
  const answered = {
    times: { buckets: [{ key: 1, doc_count: 1, names }] },
    which: { buckets: { web: { doc_count: 1, names } } },
    one: { doc_count: 1, first: { value: 1 } },
  }
  assert.deepEqual(withTypedKeys(asked, answered), {
    'lterms#times': { buckets: [{ key: 1, doc_count: 1, 'sterms#names': names }] },
    'filters#which': { buckets: { web: { doc_count: 1, 'sterms#names': names } } },
    'filter#one': { doc_count: 1, 'min#first': { value: 1 } },
  })
})

test('of patterns for values only how they begin', () => {
  const read = (include: string) =>
    readAggregations(new Piece({ a: { terms: { field: 'kind.keyword', include } } }, 'aggs'))
  for (const beginning of ['.*', 'web.*', 'a\\.b\\*.*', 'müller-1.*'])
    assert.deepEqual(read(beginning), { a: { terms: { field: 'kind.keyword', include: beginning } } })
  for (const other of [
    '',
    'web',
    '.*web.*',
    '(a|b).*',
    '[ab].*',
    'a+.*',
    'a{9}.*',
    '\\d.*',
    '\\',
    'a\\.*',
    '<1-9>.*',
    `${'x'.repeat(513)}.*`,
  ]) {
    assert.throws(
      () => read(other),
      (error) => isStatusError(error, 'badRequest'),
      other,
    )
  }
})

test('values by how they begin: what means something in patterns stands for itself', () => {
  const include = (body: object): unknown =>
    (readTermsEnum({ field: 'kind.keyword', ...body }).aggregations?.['values'] as { terms: { include?: string } })
      .terms.include
  assert.equal(include({}), undefined)
  assert.equal(include({ string: 'a.*b' }), 'a\\.\\*b.*')
  assert.equal(include({ string: 'aß1', case_insensitive: true }), '[aA]ß1.*')
  for (const body of [
    { field: 'spec' },
    { field: 'fleetsearch.tie' },
    { string: 'x'.repeat(257) },
    { search_after: 'a' },
  ]) {
    assert.throws(
      () => readTermsEnum({ field: 'kind.keyword', ...body }),
      (error) => isStatusError(error, 'badRequest'),
    )
  }
})

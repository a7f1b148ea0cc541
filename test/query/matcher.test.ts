/** One document against a predicate decides as the naive oracle does, and so as every store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { columnsOf } from '../../src/kube/columns/index.ts'
import { DocumentBuilder } from '../../src/query/document.ts'
import { TERM_LINES } from '../../src/query/term-lines.ts'
import { documentMatcher } from '../../src/query/matcher.ts'
import { parseQuery } from '../../src/query/parser.ts'
import { resolveQuery } from '../../src/query/resolve.ts'
import { FAKE_EPOCH_MS } from '../support/fake-clock.ts'
import { objectsArbitrary, queryArbitrary } from '../support/query-objects.ts'
import { QueryOracle } from '../support/query-oracle.ts'
import { allFields as fields } from '../support/search.ts'

test('a document satisfies what the naive oracle says it does', { timeout: 60_000 }, () => {
  const oracle = new QueryOracle(fields, FAKE_EPOCH_MS)
  const builder = new DocumentBuilder(TERM_LINES)
  const queries = fc.array(queryArbitrary, { minLength: 12, maxLength: 12 })
  const property = fc.property(objectsArbitrary, queries, (objects, asked) => {
    const documents = objects.map(({ identity, object }) =>
      builder.build(identity, Buffer.from(JSON.stringify(object)), columnsOf(identity)),
    )
    for (const query of asked) {
      const ast = parseQuery(query, (name) => fields.find(name) !== undefined)
      const matches = documentMatcher(resolveQuery(ast, { fields, nowMs: FAKE_EPOCH_MS }).predicate)
      const { found } = oracle.answer(objects, { ast, sort: [], facets: [] })
      const expected = new Set(found.map(({ identity }) => identity))
      for (const [i, { identity }] of objects.entries()) {
        assert.equal(
          matches(documents[i] as (typeof documents)[0]),
          expected.has(identity),
          `q=${query} ${JSON.stringify(objects[i])}`,
        )
      }
    }
  })
  fc.assert(property, { numRuns: Number(process.env['FLEETSEARCH_TEST_RUNS'] ?? 60) })
})

test('a pattern is held against whole values of fields that have no pieces, as stores do it', () => {
  const identity = {
    ...{ cluster: 'member1', group: '', version: 'v1', resource: 'pods', kind: 'Pod' },
    ...{ namespace: 'shop', name: 'web-1', uid: '7f3a-12ab', resourceVersion: '7' },
  }
  const object = { metadata: { annotations: { note: 'see wiki' } }, status: { podIP: '10.0.0.9' } }
  const document = new DocumentBuilder(TERM_LINES).build(identity, Buffer.from(JSON.stringify(object)), undefined)
  const matches = (q: string): boolean => {
    const ast = parseQuery(q, (name) => fields.find(name) !== undefined)
    return documentMatcher(resolveQuery(ast, { fields, nowMs: FAKE_EPOCH_MS }).predicate)(document)
  }
  const found = ['uid:7f*', 'uid:*12*', 'ip:10.*', 'name:w*', 'name:1*', 'annotation.note:wik*', '.status.podip:10.0*']
  for (const q of found) assert.equal(matches(q), true, q)
  for (const q of ['uid:12*', 'ip:9*', 'ip:0.0*']) assert.equal(matches(q), false, q)
})

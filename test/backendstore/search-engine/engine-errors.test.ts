import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removeAll } from '../../../src/backendstore/search-engine/comparisons.ts'
import type { EngineClient } from '../../../src/backendstore/search-engine/engine-client.ts'
import { engineError, toNativeError, toStoreError } from '../../../src/backendstore/search-engine/engine-errors.ts'
import { isStatusError } from '../../../src/kube/status-error.ts'

const told = (type: string, reason: string, asked: object, status = 400): string => {
  const error = toNativeError(engineError(status, { error: { root_cause: [{ type, reason }] } }), asked)
  assert.ok(status !== 400 || isStatusError(error, 'badRequest'))
  return error.message
}

test('of an engine’s own words those that quote the request are shown, and nothing else that is quoted', () => {
  const asked = { query: { range: { 'metadata.creationTimestamp': { gte: 'no "time"' } } } }
  const reason = 'failed to parse date field [no "time"] with format [epoch_millis] of [web-1, web-2]'
  assert.equal(
    told('parse_exception', reason, asked),
    'the search engine cannot answer this query: parse_exception: failed to parse date field [no "time"] with format […] of […]',
  )
  assert.match(told('number_format_exception', 'For input string: "abc"', { a: 'abc' }), /"abc"/)
  assert.doesNotMatch(told('number_format_exception', 'For input string: "abc"', { a: 'b' }), /abc/)
})

test('what may be about documents is told by its type alone', () => {
  const message = told('script_exception', 'value of web-1 is 5', {})
  assert.equal(message, 'the search engine cannot answer this query: script_exception')
})

test('what is no fault of the request stays the store’s', () => {
  assert.match(told('es_rejected_execution_exception', 'rejected', {}, 429), /too much to do/)
})

test('what an engine tells of parts of a request has the code of its cause', () => {
  const cause = { type: 'cluster_block_exception', reason: 'blocked by: flood-stage watermark' }
  const full = toStoreError(engineError(429, { failures: [{ cause, status: 429 }] }))
  assert.deepEqual([full.code, /flood-stage/.test(full.message)], ['full', true])
  assert.equal(toStoreError(engineError(429, {})).code, 'overloaded')
})

test('documents that could not be removed are told of, whatever the status', async () => {
  const client = (answer: object): EngineClient => ({
    ...{ name: 'elasticsearch', flatType: {} },
    request: <Body>() => Promise.resolve({ version_conflicts: 0, ...answer } as Body),
    ...{ openPointInTime: () => Promise.resolve(''), closePointInTime: () => Promise.resolve() },
    close: () => Promise.resolve(),
  })
  const remove = (answer: object): Promise<void> => removeAll(client(answer), 'all', { match_all: {} })
  await remove({ failures: [] })
  await assert.rejects(remove({ failures: ['ClusterBlockException: read-only'] }), /ClusterBlockException: read-only/)
  await assert.rejects(remove({ failures: [{ cause: { type: 'x', reason: 'y' }, status: 503 }] }), /x: y/)
  await assert.rejects(remove({ version_conflicts: 1 }), /faster than they can be removed/)
})

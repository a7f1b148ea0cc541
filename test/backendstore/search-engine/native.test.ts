/** Answers in an engine's own language, as they are shown: over an engine that answers what it is told. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EngineClient } from '../../../src/backendstore/search-engine/engine-client.ts'
import { IndexNames } from '../../../src/backendstore/search-engine/index-names.ts'
import { searchNatively } from '../../../src/backendstore/search-engine/native.ts'
import type { NativeRequest } from '../../../src/query/native-search.ts'

const REQUEST = {
  query: { match_all: {} },
  size: 0,
  from: 0,
  sort: [],
  trackTotalHits: true,
} as unknown as NativeRequest

test('an aggregation has the meta that was sent with it, and no empty one, which tells of documents that are not shown', async () => {
  const aggregations = {
    none: { meta: {}, doc_count: 0 },
    sent: { meta: { title: 'x' }, buckets: [{ key: 'a', meta: {}, inner: { meta: {}, value: null } }] },
  }
  const request = () => Promise.resolve({ took: 1, timed_out: false, hits: { hits: [] }, aggregations } as never)
  const client = { request } as unknown as EngineClient
  const answer = await searchNatively(client, new IndexNames('one'), REQUEST)
  assert.deepEqual(answer.aggregations, {
    none: { doc_count: 0 },
    sent: { meta: { title: 'x' }, buckets: [{ key: 'a', inner: { value: null } }] },
  })
})

/** How documents move to an index of another version: over an engine that answers what it is told. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EngineClient, EngineRequest } from '../../../src/backendstore/search-engine/engine-client.ts'
import { IndexWriter } from '../../../src/backendstore/search-engine/index-writer.ts'
import type { Indices } from '../../../src/backendstore/search-engine/indices.ts'
import { WorkerClient } from '../../../src/backendstore/worker-rpc.ts'
import { remove, upsert } from '../../conformance/backend-store-suite.ts'

test('an older index keeps the documents that the new one did not take', async (t) => {
  const sent: EngineRequest[] = []
  const statuses = [201, 429, 400, 404]
  const client = {
    request: (asked: EngineRequest) => {
      sent.push(asked)
      const items = statuses.map((status) => ({ index: { status, ...(status === 404 ? {} : errorOf(status)) } }))
      return Promise.resolve({ items: sent.length === 1 ? items : [items[0], items[0]] } as never)
    },
  } as unknown as EngineClient
  const indices = { ensure: () => Promise.resolve({ alias: 'pods', current: 'pods-2', older: ['pods-1'] }) }
  const builder = new WorkerClient('search-engine/document-worker', undefined)
  t.after(() => builder.close())
  const writer = new IndexWriter(client, indices as unknown as Indices, builder)
  const summary = await writer.write([upsert('taken'), upsert('later'), upsert('refused'), remove('gone')])
  assert.deepEqual(
    [summary.written, summary.unchanged, summary.deferred?.length, summary.rejected.length],
    [1, 1, 1, 1],
  )
  const deleted = sent[1]!.lines!.toString().trimEnd().split('\n')
  const ids = deleted.map((line) => (JSON.parse(line) as { delete: { _index: string; _id: string } }).delete)
  assert.deepEqual(
    ids.map(({ _index, _id }) => [_index, /taken|later|refused|gone/.exec(_id)?.[0]]),
    [
      ['pods-1', 'taken'],
      ['pods-1', 'gone'],
    ],
  )
})

function errorOf(status: number): object {
  return status < 300 ? {} : { error: { type: `error_${status}`, reason: 'why' } }
}

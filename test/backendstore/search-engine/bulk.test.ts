/** What a bulk's answer means for each operation, and what is sent: without a server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Change } from '../../../src/backendstore/backend-store.ts'
import { isBackendStoreError } from '../../../src/backendstore/errors.ts'
import {
  guardedBy,
  headLine,
  sendBulk,
  type Guard,
  type Operation,
} from '../../../src/backendstore/search-engine/bulk.ts'
import type { EngineClient, EngineRequest } from '../../../src/backendstore/search-engine/engine-client.ts'
import { remove, upsert } from '../../conformance/backend-store-suite.ts'

type Item = Record<string, { status: number; error?: object }>

function clientOf(...answers: readonly (readonly Item[])[]): { client: EngineClient; sent: EngineRequest[] } {
  const sent: EngineRequest[] = []
  const request = (asked: EngineRequest): Promise<never> => {
    sent.push(asked)
    return Promise.resolve({ items: answers[sent.length - 1] } as never)
  }
  return { client: { request } as unknown as EngineClient, sent }
}

function operation(change: Change, guard: Guard, document: string): Operation {
  const planned = { change, id: change.name, index: 'kubernetes-pod', guard }
  return { ...planned, lines: Buffer.from(headLine(planned) + document) }
}

const index = (id: string, bytes = 20): Operation =>
  operation(upsert(id), { type: 'version', version: '7' }, `{"n":"${'x'.repeat(bytes)}"}\n`)
const deletion = (id: string): Operation => operation(remove(id), { type: 'any' }, '')

test('H4: items of one line and of two are matched by their place', async () => {
  const { client, sent } = clientOf([
    { index: { status: 201 } },
    { delete: { status: 404 } },
    {
      index: { status: 400, error: { type: 'mapper_parsing_exception', reason: 'bad', caused_by: { reason: 'why' } } },
    },
    { index: { status: 429, error: { type: 'rejected_execution_exception', reason: 'full queue' } } },
    { delete: { status: 200 } },
    { index: { status: 409, error: { type: 'version_conflict_engine_exception', reason: 'newer' } } },
    { index: { status: 404, error: { type: 'index_not_found_exception', reason: 'no such index' } } },
  ])
  const operations = [index('a'), deletion('b'), index('c'), index('d'), deletion('e'), index('f'), index('g')]
  assert.deepEqual(await sendBulk(client, operations), [
    { type: 'done' },
    { type: 'absent' },
    { type: 'rejected', reason: 'mapper_parsing_exception: why' },
    { type: 'deferred', reason: 'rejected_execution_exception: full queue' },
    { type: 'done' },
    { type: 'conflict' },
    { type: 'noIndex' },
  ])
  const lines = sent[0]!.lines!.toString().trimEnd().split('\n')
  assert.equal(lines.length, 12)
  assert.deepEqual(JSON.parse(lines[0]!), {
    index: { _index: 'kubernetes-pod', _id: 'a', version: 7, version_type: 'external_gte', require_alias: true },
  })
  assert.deepEqual(JSON.parse(lines[2]!), { delete: { _index: 'kubernetes-pod', _id: 'b' } })
})

test('H7: an item that is told what holds for all of them ends the bulk with that code', async () => {
  const blocked = { type: 'cluster_block_exception', reason: 'index [x] blocked by: [FORBIDDEN/8/index write (api)];' }
  const { client } = clientOf([{ index: { status: 403, error: blocked } }])
  await assert.rejects(sendBulk(client, [index('a')]), (error) => isBackendStoreError(error, 'readOnly'))
})

test('requests are bounded in bytes, and an answer that tells of fewer items than were sent is none', async () => {
  const done = { index: { status: 200 } }
  const { client, sent } = clientOf([done, done], [done])
  const large = ['a', 'b', 'c'].map((id) => index(id, 3_500_000))
  assert.equal((await sendBulk(client, large)).length, 3)
  assert.equal(sent.length, 2)
  await assert.rejects(sendBulk(clientOf([done]).client, [index('a'), index('b')]), /does not tell of every/)
})

test('an operation is tried again with the same document against something else', async () => {
  const { client, sent } = clientOf([
    { create: { status: 201 } },
    { index: { status: 200 } },
    { delete: { status: 200 } },
  ])
  const guards: readonly Guard[] = [{ type: 'absent' }, { type: 'state', seqNo: 4, primaryTerm: 2 }, { type: 'any' }]
  const again = [index('a'), index('b'), deletion('c')].map((first, i) => guardedBy(first, guards[i]!))
  await sendBulk(client, again)
  const lines = sent[0]!.lines!.toString().trimEnd().split('\n')
  assert.deepEqual(JSON.parse(lines[0]!), { create: { _index: 'kubernetes-pod', _id: 'a', require_alias: true } })
  assert.equal(lines[1], lines[3])
  assert.deepEqual(JSON.parse(lines[2]!), {
    index: { _index: 'kubernetes-pod', _id: 'b', if_seq_no: 4, if_primary_term: 2, require_alias: true },
  })
  assert.deepEqual(JSON.parse(lines[4]!), { delete: { _index: 'kubernetes-pod', _id: 'c' } })
})

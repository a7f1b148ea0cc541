/** States of an engine that are held for exports: how many, and that each is given back once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EngineClient, EngineRequest } from '../../../src/backendstore/search-engine/engine-client.ts'
import { EngineError } from '../../../src/backendstore/search-engine/engine-errors.ts'
import { EngineSnapshots } from '../../../src/backendstore/search-engine/snapshots.ts'
import type { SearchRequest } from '../../../src/query/search-request.ts'

const REQUEST: SearchRequest = {
  ...{ predicate: { type: 'exact', path: 'name', value: 'a' }, ranked: [], sort: [], limit: 1, facets: [] },
}

/** An engine with nothing in it that counts what is held. */
class CountingClient implements EngineClient {
  readonly name = 'opensearch'
  readonly flatType = {}
  readonly open = new Set<string>()
  readonly sent: EngineRequest[] = []
  opened = 0
  refuses: EngineError | undefined
  /** Each search tells the state by another id. */
  renews = false

  request<Body>(request: EngineRequest): Promise<Body> {
    this.sent.push(request)
    const answer = { hits: { total: { value: 0 }, hits: [] }, timed_out: false }
    return Promise.resolve({ ...answer, ...(this.renews ? { pit_id: this.#renewed(request) } : {}) } as Body)
  }

  #renewed({ body }: EngineRequest): string {
    const { id } = (body as { pit: { id: string } }).pit
    assert.ok(this.open.delete(id), `${id} is not the last one`)
    this.open.add(`${id}+`)
    return `${id}+`
  }

  openPointInTime(): Promise<string> {
    if (this.refuses !== undefined) return Promise.reject(this.refuses)
    const id = `state-${++this.opened}`
    this.open.add(id)
    return Promise.resolve(id)
  }

  closePointInTime(id: string): Promise<void> {
    assert.ok(this.open.delete(id), `${id} is given back once`)
    return Promise.resolve()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

test('no more than 16 at once, also where they are opened together, and places come back', async () => {
  const client = new CountingClient()
  const snapshots = new EngineSnapshots(client, 'all')
  const asked = await Promise.allSettled(Array.from({ length: 20 }, () => snapshots.open()))
  const held = asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  assert.equal(held.length, 16)
  for (const each of asked) if (each.status === 'rejected') assert.equal(each.reason.code, 'tooManyRequests')
  await held[0]?.close()
  await held[0]?.close()
  const again = await snapshots.open()
  await assert.rejects(snapshots.open(), { code: 'tooManyRequests' })
  assert.equal(client.open.size, 16)
  assert.deepEqual(snapshots.held, { now: 16, most: 16 })
  await again.close()
  await snapshots.close()
  assert.equal(client.open.size, 0)
  assert.equal(client.opened, 17)
})

test('an engine that refuses costs no place', async () => {
  const client = new CountingClient()
  const snapshots = new EngineSnapshots(client, 'all')
  client.refuses = new EngineError(429, '', 'too many')
  for (let i = 0; i < 20; i++) await assert.rejects(snapshots.open(), { status: 429 })
  client.refuses = undefined
  await (await snapshots.open()).close()
})

test('one that nobody reads is given back, later reads are told so', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const client = new CountingClient()
  const held = await new EngineSnapshots(client, 'all').open()
  t.mock.timers.tick(100_000)
  await held.search(REQUEST)
  assert.deepEqual((client.sent[0]?.body as { pit: object }).pit, { id: 'state-1', keep_alive: '5m' })
  t.mock.timers.tick(119_000)
  assert.equal(client.open.size, 1, 'a search counts anew')
  t.mock.timers.tick(2_000)
  assert.equal(client.open.size, 0)
  await assert.rejects(held.search(REQUEST), { code: 'expired' })
  await held.close()
})

test('an engine without an index has an empty state, which costs no place', async () => {
  const client = new CountingClient()
  client.refuses = new EngineError(404, 'index_not_found_exception', 'no such index [x]')
  const snapshots = new EngineSnapshots(client, 'all')
  const held = await snapshots.open()
  const { total, hits, more, facets } = await held.search({ ...REQUEST, facets: [{ path: 'cluster', limit: 5 }] })
  assert.deepEqual([total, hits, more], [0, [], false])
  assert.deepEqual(facets, [{ path: 'cluster', values: [], distinct: 0 }])
  assert.equal(snapshots.held.now, 0)
  await held.close()
  assert.deepEqual(client.sent, [])
})

test('a state that the engine tells by another id is read and given back by that', async () => {
  const client = new CountingClient()
  client.renews = true
  const held = await new EngineSnapshots(client, 'all').open()
  await held.search(REQUEST)
  await held.search(REQUEST)
  assert.deepEqual([...client.open], ['state-1++'])
  await held.close()
  assert.equal(client.open.size, 0)
})

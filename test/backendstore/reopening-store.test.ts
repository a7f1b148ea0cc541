import assert from 'node:assert/strict'
import { mkdtempSync, openSync, rmSync, writeSync, closeSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { BackendStoreError, isBackendStoreError } from '../../src/backendstore/errors.ts'
import { ReopeningStore } from '../../src/backendstore/reopening-store.ts'
import { SqliteStore } from '../../src/backendstore/sqlite/store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { FakeEngine } from '../support/fake-engine.ts'

const ENGINE = { kind: 'opensearch', addresses: ['http://one'], credentials: {}, installation: 'test' } as const
const SHARED = { atomicBatches: false, shared: true }
const PODS = { cluster: 'a', group: '', version: 'v1', resource: 'pods', kind: 'Pod' }

test('a store that cannot be opened is opened at a later call', async () => {
  const engine = new FakeEngine(new FakeClock())
  engine.faults.code = 'forbidden'
  const store = new ReopeningStore({ name: 's', capabilities: SHARED, engine: true, open: () => engine.open(ENGINE) })
  await assert.rejects(store.shards(), (error) => isBackendStoreError(error, 'forbidden'))
  engine.faults.code = undefined
  assert.deepEqual(await store.shards(), [])
  assert.deepEqual(await store.digest?.(PODS), { objects: 0, hashSum: 0 })
  await store.close()
  await assert.rejects(store.shards(), (error) => isBackendStoreError(error, 'closed'))
})

test('a store whose thread has ended is opened anew, and who writes to it is told', async () => {
  const engine = new FakeEngine(new FakeClock())
  const lost: string[] = []
  const store = new ReopeningStore({
    ...{ name: 's', capabilities: SHARED, engine: false },
    open: () => engine.open(ENGINE),
    onLost: ({ code }) => void lost.push(code),
  })
  await store.use((opened) => opened.close())
  await assert.rejects(store.shards(), BackendStoreError)
  assert.deepEqual(await store.shards(), [])
  assert.deepEqual(lost, ['closed'])
  await store.close()
})

test('G3: a search.db that is damaged while it is in use is made anew at once', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-test-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'search.db')
  const lost: string[] = []
  const store = new ReopeningStore({
    ...{ name: 'sqlite', capabilities: { atomicBatches: true, shared: false }, engine: false },
    open: () => SqliteStore.open({ file }),
    onLost: ({ code }) => void lost.push(code),
  })
  const upsert = (i: number) => ({
    ...{ type: 'upsert' as const, ...PODS, namespace: 'default', name: `p${i}`, uid: `u${i}`, resourceVersion: '1' },
    bytes: Buffer.from(JSON.stringify({ metadata: { name: `p${i}` }, spec: { nodeName: 'x'.repeat(500) + i } })),
  })
  const batch = Array.from({ length: 2_000 }, (_, i) => upsert(i))
  await store.write(batch)
  await store.use((opened) => opened.close())
  await store.shards().catch(() => undefined)
  lost.length = 0
  await store.shards() // open again, everything in the file itself and nothing in its journal
  const noise = Buffer.alloc(statSync(file).size - 16_384, 0xa5)
  const handle = openSync(file, 'r+')
  writeSync(handle, noise, 0, noise.length, 16_384)
  closeSync(handle)
  let failures = 0
  for (let round = 0; round < 20 && lost.length === 0; round++) {
    await store.write([...batch.slice(0, 500), upsert(5_000 + round)]).catch(() => failures++)
  }
  assert.equal(lost.at(-1), 'corrupt')
  assert.ok(failures > 0)
  const { written } = await store.write(batch)
  assert.equal(written, 2_000)
  assert.deepEqual(await store.shards(), [{ cluster: 'a', group: '', resource: 'pods', objects: 2_000 }])
  await store.close()
})

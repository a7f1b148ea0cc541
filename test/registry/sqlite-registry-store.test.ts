import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { ResourceVersion } from '../../src/kube/names.ts'
import { isStatusError } from '../../src/kube/status-error.ts'
import { SqliteRegistryStore } from '../../src/registry/sqlite/registry-store.ts'
import { FAKE_EPOCH_MS } from '../support/fake-clock.ts'
import { registryStoreSuite } from '../conformance/registry-store-suite.ts'
import { input } from './fixture.ts'

const nowMs = (): number => FAKE_EPOCH_MS

registryStoreSuite('sqlite', async () => new SqliteRegistryStore({ path: ':memory:', nowMs }), {
  writesUntilForgotten: 1_001,
})

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'registry-store-'))
  try {
    await body(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('objects, versions and the events behind them survive a restart', async () => {
  await withFolder(async (folder) => {
    const file = path.join(folder, 'registries.db')
    const first = new SqliteRegistryStore({ path: file, nowMs })
    const created = await first.create(input('a'))
    const updated = await first.update(
      { ...created, status: { conditions: [] } },
      created.metadata.resourceVersion as ResourceVersion,
    )
    await first.close()

    const second = new SqliteRegistryStore({ path: file, nowMs: () => 0 })
    assert.deepEqual((await second.list()).items, [updated])
    const events = second.watch(created.metadata.resourceVersion as ResourceVersion, new AbortController().signal)
    for await (const event of events) {
      assert.deepEqual(event, { type: 'MODIFIED', object: updated, previous: created })
      break
    }
    await second.close()
  })
})

test('a new file begins above the versions of the one it replaces', async () => {
  const old = new SqliteRegistryStore({ path: ':memory:', nowMs })
  for (let i = 0; i < 50; i++) await old.create(input(`r${i}`))
  const { version } = await old.list()
  await old.close()
  const fresh = new SqliteRegistryStore({ path: ':memory:', nowMs: () => FAKE_EPOCH_MS + 1_000 })
  const resumed = fresh.watch(version, new AbortController().signal)[Symbol.asyncIterator]()
  await assert.rejects(resumed.next(), (error) => isStatusError(error, 'expired'))
  await fresh.close()
})

test('a file in use, damaged, newer or not there is said to be so', async () => {
  await withFolder(async (folder) => {
    const file = path.join(folder, 'registries.db')
    const open = (name: string): SqliteRegistryStore =>
      new SqliteRegistryStore({ path: path.join(folder, name), nowMs })
    const refused = (words: RegExp) => (error: unknown) =>
      isStatusError(error, 'serviceUnavailable') && words.test(error.message)

    const holder = open('registries.db')
    assert.throws(() => open('registries.db'), refused(/another process uses the file/))
    await holder.close()

    await writeFile(
      path.join(folder, 'text.db'),
      'no database at all, just some text that is long enough\n'.repeat(100),
    )
    assert.throws(() => open('text.db'), refused(/no SQLite database/))

    const newer = new DatabaseSync(file)
    newer.exec('PRAGMA user_version = 99')
    newer.close()
    assert.throws(() => open('registries.db'), refused(/newer version/))

    assert.throws(() => open('no/such/folder.db'), refused(/cannot be opened/))
  })
})

test('a full disk refuses the write with a clear message, and reads go on', async () => {
  await withFolder(async (folder) => {
    const file = path.join(folder, 'registries.db')
    const store = new SqliteRegistryStore({ path: file, nowMs, maxBytes: 64 * 1024 })
    await store.create(input('kept'))
    const big = { annotations: { note: 'x'.repeat(100_000) } }
    await assert.rejects(store.create(input('big', {}, big)), (error) => {
      return isStatusError(error, 'serviceUnavailable') && error.message.includes('the disk is full')
    })
    assert.deepEqual(
      (await store.list()).items.map((item) => item.metadata.name),
      ['kept'],
    )
    await store.create(input('after'))
    await store.close()
  })
})

test('a watcher that does not read is cut instead of holding every event', async () => {
  const store = new SqliteRegistryStore({ path: ':memory:', nowMs })
  const { version } = await store.list()
  let registry = await store.create(input('a'))
  const events = store.watch(version, new AbortController().signal)[Symbol.asyncIterator]()
  await events.next()
  for (let i = 0; i < 1_100; i++) {
    const metadata = { ...registry.metadata, labels: { i: String(i) } }
    registry = await store.update({ ...registry, metadata }, registry.metadata.resourceVersion as ResourceVersion)
  }
  await assert.rejects(events.next(), (error) => isStatusError(error, 'expired'))
  await store.close()
})

test('a row that cannot be read is told by name and left out; the others go on, and it may be created anew', async () => {
  await withFolder(async (folder) => {
    const file = path.join(folder, 'registries.db')
    const first = new SqliteRegistryStore({ path: file, nowMs })
    for (const name of ['a', 'broken', 'c']) await first.create(input(name))
    await first.close()
    const database = new DatabaseSync(file)
    database.exec(`UPDATE registries SET value = '{"spec": 7' WHERE name = 'broken'`)
    database.close()

    const told: string[] = []
    const onUnreadable = (name: string, error: unknown): void => void told.push(`${name}: ${(error as Error).message}`)
    const store = new SqliteRegistryStore({ path: file, nowMs, onUnreadable })
    const names = async (): Promise<string[]> => (await store.list()).items.map(({ metadata }) => metadata.name)
    assert.deepEqual(await names(), ['a', 'c'])
    assert.match(told.join(), /^broken: a stored ResourceRegistry cannot be read: /)
    await assert.rejects(store.get('broken'), (error) => isStatusError(error, 'internal'))
    await store.create(input('broken'))
    assert.deepEqual(await names(), ['a', 'broken', 'c'])
    await store.close()
  })
})

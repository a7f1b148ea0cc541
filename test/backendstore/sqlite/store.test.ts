import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { isBackendStoreError } from '../../../src/backendstore/errors.ts'
import { SqliteStore } from '../../../src/backendstore/sqlite/store.ts'
import { remove, storeSuite, upsert } from '../../conformance/backend-store-suite.ts'
import { ask, namesFound } from '../../support/search.ts'
import { newStore } from './stores.ts'

storeSuite(async () => {
  const { store, folder } = await newStore()
  return {
    store,
    dispose: async () => {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
})

describe('SQLite', () => {
  test('keeps its documents over a restart', async (t) => {
    const { store, folder, file } = await newStore()
    t.after(() => rmSync(folder, { recursive: true }))
    await store.write([upsert('a', { body: { status: { podIP: '10.0.0.1' } } })])
    await store.close()
    const again = await SqliteStore.open({ file })
    t.after(() => again.close())
    assert.deepEqual(await namesFound(again, '10.0.0.1'), ['default/a'])
    assert.equal((await again.write([upsert('a', { body: { status: { podIP: '10.0.0.1' } } })])).unchanged, 1)
    await again.write([upsert('b', { body: { status: { podIP: '10.0.0.2' } } })])
    assert.deepEqual(await namesFound(again, '', { sort: ['-ip'] }), ['default/b', 'default/a'])
  })

  test('has one process at a time: another is told so, and opens it when the first has closed it', async (t) => {
    const { store, folder, file } = await newStore()
    t.after(() => rmSync(folder, { recursive: true }))
    await store.write([upsert('a')])
    await assert.rejects(SqliteStore.open({ file }), (error) => isBackendStoreError(error, 'busy'))
    assert.equal((await store.write([upsert('b')])).written, 1)
    await store.close()
    const next = await SqliteStore.open({ file })
    t.after(() => next.close())
    assert.deepEqual(await namesFound(next, ''), ['default/a', 'default/b'])
  })

  test('makes a damaged file, and one of another version, anew', async (t) => {
    const { store, folder, file } = await newStore()
    t.after(() => rmSync(folder, { recursive: true }))
    await store.write([upsert('a')])
    await store.close()
    writeFileSync(file, Buffer.alloc(20_000, 'not a database '))
    const second = await SqliteStore.open({ file })
    assert.equal((await ask(second, '')).total, 0)
    await second.write([upsert('b')])
    await second.close()
    const db = new DatabaseSync(file)
    db.exec('PRAGMA user_version = 999')
    db.close()
    const third = await SqliteStore.open({ file })
    t.after(() => third.close())
    assert.equal((await ask(third, '')).total, 0)
  })

  test('damage that shows only when a page is read: the next start, or the one after it was met, makes the file anew', async (t) => {
    const { store, folder, file } = await newStore()
    t.after(() => rmSync(folder, { recursive: true }))
    const objects = (version: string) =>
      Array.from({ length: 500 }, (_, i) => upsert(`p${i}`, { version, annotations: { note: `some words ${i}` } }))
    await store.write(objects('1'))
    await store.close()
    const whole = readFileSync(file)
    const PAGE = 8_192
    const pages = whole.length / PAGE
    for (const page of [1, 2, Math.floor(pages / 2), pages - 1]) {
      writeFileSync(file, Buffer.from(whole).fill(0, page * PAGE, (page + 1) * PAGE))
      const damaged = await SqliteStore.open({ file })
      await ask(damaged, 'words').catch(() => undefined)
      await damaged.write(objects('2')).catch(() => undefined)
      await damaged.close()
      const next = await SqliteStore.open({ file })
      await next.write(objects('3'))
      assert.equal((await ask(next, 'words')).total, 500, `page ${page}`)
      await next.close()
    }
  })

  test('a search that meets damage takes no other search with it', async (t) => {
    const { store, folder, file } = await newStore()
    t.after(() => rmSync(folder, { recursive: true }))
    await store.write(
      Array.from({ length: 3_000 }, (_, i) => upsert(`p${i}`, { annotations: { note: `some words ${i}` } })),
    )
    await store.close()
    const db = new DatabaseSync(file)
    const leaves = db.prepare("SELECT pageno FROM dbstat WHERE name = 'word_index_data' ORDER BY pageno DESC").all()
    db.close()
    const whole = readFileSync(file)
    const PAGE = 8_192
    const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code
    let met = 0
    for (const { pageno } of leaves as { pageno: number }[]) {
      writeFileSync(file, Buffer.from(whole).fill(0, (pageno - 1) * PAGE, pageno * PAGE))
      rmSync(`${file}-damaged`, { force: true })
      const damaged = await SqliteStore.open({ file })
      const codes = []
      for (let i = 0; i < 3; i++) codes.push(await ask(damaged, 'words').then(() => undefined, codeOf))
      await damaged.close()
      assert.ok(!codes.includes('failed'), `page ${pageno}: ${codes.join()}`)
      if (codes[0] === 'corrupt' && ++met === 3) return
    }
    assert.ok(met > 0, 'no search met the damage')
  })

  test('says why a file cannot be opened', async (t) => {
    const { store, folder } = await newStore()
    await store.close()
    t.after(() => rmSync(folder, { recursive: true }))
    await assert.rejects(SqliteStore.open({ file: `${folder}/missing/search.db` }), (error) =>
      isBackendStoreError(error, 'io'),
    )
  })

  test('a full disk refuses the batch whole, goes on answering, and recovers', async (t) => {
    const { store, folder } = await newStore()
    t.after(async () => {
      await store.close()
      rmSync(folder, { recursive: true })
    })
    await store.write([upsert('before')])
    await store.limitPages(1) // SQLite takes the number of pages there are
    const many = Array.from({ length: 2_000 }, (_, i) => upsert(`p${i}`, { annotations: { note: `some words ${i}` } }))
    await assert.rejects(store.write([remove('before'), ...many]), (error) => {
      assert.equal(isBackendStoreError(error, 'full'), true)
      assert.match((error as Error).message, /no space is left/)
      return true
    })
    assert.deepEqual(await namesFound(store, ''), ['default/before'])
    await store.limitPages(1_000_000)
    assert.equal((await store.write([remove('before'), ...many])).written, 2_000)
    assert.equal((await ask(store, 'words')).total, 2_000)
  })

  test('the file holds no bodies and no Secret', async (t) => {
    const { store, folder, file } = await newStore()
    t.after(() => rmSync(folder, { recursive: true }))
    const shard = { cluster: 'm', group: '', version: 'v1', resource: 'secrets', kind: 'Secret' }
    await store.write([
      upsert('s', { shard, body: { data: { password: 'c3VwZXJzZWNyZXQ' }, stringData: { k: 'plainsecret' } } }),
    ])
    await store.close()
    const text = readFileSync(file).toString('latin1').toLowerCase()
    assert.equal(text.includes('password'), true)
    for (const secret of ['c3vwzxjzzwnyzxq', 'plainsecret', '"apiversion"'])
      assert.equal(text.includes(secret), false, secret)
  })

  test('changes of thousands of objects leave no stale entries behind', async (t) => {
    const { store, folder } = await newStore()
    t.after(async () => {
      await store.close()
      rmSync(folder, { recursive: true })
    })
    const round = (r: number) =>
      Array.from({ length: 500 }, (_, i) => upsert(`p${i}`, { version: `${r}`, labels: { round: `r${(r + i) % 5}` } }))
    for (let r = 0; r < 6; r++) await store.write(round(r))
    const { total, facets } = await ask(store, '', { facets: ['label.round'] })
    assert.equal(total, 500)
    assert.deepEqual(
      facets[0]?.values.map(({ count }) => count),
      [100, 100, 100, 100, 100],
    )
    assert.equal((await ask(store, 'label.round=r0')).total, 100)
  })
})

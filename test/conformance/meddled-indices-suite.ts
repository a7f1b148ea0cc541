/** What a store makes of what others do to its indices by hand. Over a real engine. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { BackendStore, ManifestEntry } from '../../src/backendstore/backend-store.ts'
import { openEngineStore } from '../../src/backendstore/search-engine/open-engine-store.ts'
import { engineOptions, newEngineStore } from '../support/engine-stores.ts'
import type { RealSearchEngine } from '../support/real-parts/index.ts'
import { namesFound } from '../support/search.ts'
import { PODS, upsert, WIDGETS } from './backend-store-suite.ts'

const ALL = 'fleetsearch-test'
const ALIAS = `${ALL}-pod`

async function* manifest(...names: readonly string[]): AsyncGenerator<readonly ManifestEntry[]> {
  yield await Promise.resolve(
    names.map((name) => ({ namespace: 'default', name, uid: `uid-${name}`, resourceVersion: '1' })),
  )
}

export function meddledIndicesSuite(running: () => RealSearchEngine): void {
  let engine: RealSearchEngine
  let store: BackendStore
  before(() => {
    engine = running()
  })
  beforeEach(async () => {
    await store?.close()
    store = await newEngineStore(engine)
  })
  after(() => store.close())

  const reopen = async (): Promise<void> => {
    await store.close()
    store = await openEngineStore(engineOptions(engine))
  }
  const indexOf = async (alias: string): Promise<string> =>
    Object.keys(await engine.client.ok(`/_alias/${alias}`))[0] ?? ''
  const post = (path: string, body?: object): Promise<unknown> =>
    engine.client.ok(path, { method: 'POST', ...(body === undefined ? {} : { body }) })
  /** What is written after a comparison names it, as the mirror does. */
  const mend = async (...names: readonly string[]): Promise<void> => {
    const missing = await store.compare(PODS, manifest(...names))
    await store.write(missing.map(({ name }) => upsert(name)))
  }

  test('an index of somebody else behind our alias is neither written to nor removed', async () => {
    await store.write([upsert('a')])
    await engine.client.ok('/somebody-else', { method: 'PUT' })
    try {
      await post('/_aliases', { actions: [{ add: { index: 'somebody-else', alias: ALIAS } }] })
      await reopen()
      await store.write([upsert('b')])
      assert.deepEqual(await store.compare(PODS, manifest('a', 'b')), [])
      assert.equal((await engine.client.ok('/somebody-else/_count')).count, 0)
      assert.deepEqual(await namesFound(store, ''), ['default/a', 'default/b'])
    } finally {
      await engine.client.ok('/somebody-else', { method: 'DELETE' })
    }
  })

  test('aliases that were taken away come back: of a running store with the next comparison, else at its start', async () => {
    await store.write([upsert('a')])
    const index = await indexOf(ALIAS)
    await post('/_aliases', { actions: [{ remove: { index, alias: ALL } }] })
    assert.deepEqual(await namesFound(store, ''), [])
    await mend('a')
    assert.deepEqual(await namesFound(store, ''), ['default/a'])
    await post('/_aliases', {
      actions: [{ remove: { index, alias: 'kubernetes-pod' } }, { remove: { index, alias: ALL } }],
    })
    await reopen()
    await store.write([upsert('b')])
    assert.deepEqual(await namesFound(store, ''), ['default/a', 'default/b'])
    assert.equal(await indexOf('kubernetes-pod'), index)
  })

  test('without its template an index is what it has to be', async () => {
    await store.write([upsert('a')])
    await engine.client.ok(`/_index_template/${ALL}-*`, { method: 'DELETE' })
    await store.write([upsert('w', { shard: WIDGETS })])
    assert.deepEqual(await namesFound(store, '', { sort: ['name'] }), ['default/a', 'default/w'])
  })

  test('an index of ours that somebody’s document made is made anew: it would fail every search', async () => {
    await store.write([upsert('a')])
    const index = await indexOf(ALIAS)
    await engine.client.ok(`/${index}`, { method: 'DELETE' })
    await engine.client.ok(`/_index_template/${ALL}-*`, { method: 'DELETE' })
    await engine.client.ok(`/${index}/_doc/1?refresh=true`, { method: 'PUT', body: { fleetsearch: { tie: 5 } } })
    await reopen()
    await store.write([upsert('a')])
    assert.deepEqual(await namesFound(store, '', { sort: ['name'] }), ['default/a'])
  })

  test('a closed index refuses no object for good', async () => {
    await store.write([upsert('a')])
    const index = await indexOf(ALIAS)
    await post(`/${index}/_close`)
    const { rejected, deferred } = await store.write([upsert('b')])
    assert.deepEqual([rejected.length, deferred?.length], [0, 1])
    await post(`/${index}/_open`)
    await store.write([upsert('b')])
    assert.deepEqual(await namesFound(store, ''), ['default/a', 'default/b'])
  })
}

/** Stores in an OpenSearch that asks who one is, over TLS. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { EngineCredentials } from '../../src/backendstore/engine-store.ts'
import { isBackendStoreError, type BackendStoreErrorCode } from '../../src/backendstore/errors.ts'
import { openEngineStore } from '../../src/backendstore/search-engine/open-engine-store.ts'
import { upsert } from '../conformance/backend-store-suite.ts'
import { engineOptions } from '../support/engine-stores.ts'
import { startSearchEngine, type RealSearchEngine } from '../support/real-parts/index.ts'
import { ask, namesFound } from '../support/search.ts'

describe('a store in OpenSearch with its security plugin', () => {
  let engine: RealSearchEngine
  before(async () => {
    engine = await startSearchEngine('opensearch-2-security')
    const store = await openEngineStore(engineOptions(engine))
    await store.write([upsert('a')])
    assert.deepEqual(await namesFound(store, ''), ['default/a'])
    await store.close()
  })
  after(() => engine.stop())

  const refused = async (credentials: EngineCredentials, code: BackendStoreErrorCode): Promise<void> => {
    const options = { ...engineOptions(engine), credentials }
    await assert.rejects(openEngineStore(options), (error) => {
      assert.equal(isBackendStoreError(error, code), true, String(error))
      assert.doesNotMatch(JSON.stringify([error, String(error), (error as Error).stack]), /not-the-password|YWRtaW4/)
      return true
    })
  }

  test('counts and suggests where a prefix comes after the last term of a segment', async () => {
    const store = await openEngineStore(engineOptions(engine))
    const { facets } = await ask(store, '', { facets: ['cluster', 'node'] })
    assert.deepEqual(
      facets.map(({ values }) => values),
      [[{ value: 'member1', count: 1 }], []],
    )
    const like = { type: 'prefix', text: 'zz' } as const
    for (const place of [{}, { path: 'cluster' }]) {
      const { values } = await store.vocabulary({ predicate: { type: 'all' }, ...place, like, limit: 5 })
      assert.deepEqual(values, [])
    }
    await store.close()
  })

  test('a wrong password or none: unauthorized, and the password stands nowhere', async () => {
    const { ca } = engineOptions(engine).credentials
    await refused(
      { username: 'admin', password: 'not-the-password', ...(ca === undefined ? {} : { ca }) },
      'unauthorized',
    )
    await refused(ca === undefined ? {} : { ca }, 'unauthorized')
  })

  test('an authority that is not trusted: unreachable', async () => {
    await refused({ username: 'admin', password: 'not-the-password' }, 'unreachable')
  })

  test('who may only read searches, and is told forbidden when he writes', async () => {
    const store = await openEngineStore(engineOptions(engine, engine.reader))
    assert.deepEqual(await namesFound(store, ''), ['default/a'])
    await assert.rejects(store.write([upsert('b')]), (error) => isBackendStoreError(error, 'forbidden'))
    await assert.rejects(store.write([upsert('w', { shard: OTHER })]), (error) =>
      isBackendStoreError(error, 'forbidden'),
    )
    await store.close()
  })
})

/** Of a kind that has no index yet. */
const OTHER = { cluster: 'member1', group: 'example.io', version: 'v1', resource: 'others', kind: 'Other' }

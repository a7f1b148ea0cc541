/** Stores in Elasticsearch 8 and 9. */
import type { BackendStore } from '../backend-store.ts'
import type { EngineStoreOptions } from '../engine-store.ts'
import { SearchEngineStore, type SearchEngineStoreOptions } from '../search-engine/store.ts'
import { elasticsearchClient } from './client.ts'

export type ElasticsearchStoreOptions = EngineStoreOptions & Omit<SearchEngineStoreOptions, 'client'>

/** Rejects with `BackendStoreError` where it does not answer or is another engine. */
export async function openElasticsearchStore(options: ElasticsearchStoreOptions): Promise<BackendStore> {
  const store = new SearchEngineStore({ ...options, client: elasticsearchClient(options) })
  try {
    await store.check(({ distribution, number }) => distribution === undefined && Number(number.split('.')[0]) >= 8)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

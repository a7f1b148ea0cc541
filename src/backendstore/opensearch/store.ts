/** Stores in OpenSearch 2.x (from 2.7, which has `flat_object`) and 3.x. */
import type { BackendStore } from '../backend-store.ts'
import type { EngineStoreOptions } from '../engine-store.ts'
import { SearchEngineStore, type SearchEngineStoreOptions } from '../search-engine/store.ts'
import { openSearchClient } from './client.ts'

export type OpenSearchStoreOptions = EngineStoreOptions & Omit<SearchEngineStoreOptions, 'client'>

/** Rejects with `BackendStoreError` where it does not answer or is another engine. */
export async function openOpenSearchStore(options: OpenSearchStoreOptions): Promise<BackendStore> {
  const store = new SearchEngineStore({ ...options, client: openSearchClient(options) })
  try {
    await store.check(({ distribution, number }) => distribution === 'opensearch' && isSupported(number))
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 2 || (major === 2 && minor >= 7)
}

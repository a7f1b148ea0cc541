/** Stores in real search engines, for tests. */
import type { EngineStoreOptions } from '../../src/backendstore/engine-store.ts'
import type { BackendStore } from '../../src/backendstore/backend-store.ts'
import { openEngineStore } from '../../src/backendstore/search-engine/open-engine-store.ts'
import type { RealSearchEngine, SearchEngineUser } from './real-parts/index.ts'

/** How to open a store there: as its administrator, or as somebody else. */
export function engineOptions(
  engine: RealSearchEngine,
  user: SearchEngineUser | undefined = engine.admin,
): EngineStoreOptions {
  return {
    kind: engine.name.startsWith('opensearch') ? 'opensearch' : 'elasticsearch',
    addresses: [engine.url],
    installation: 'test',
    credentials: { ...user, ...(engine.caPem === undefined ? {} : { ca: engine.caPem }) },
  }
}

/** With nothing in it. */
export async function newEngineStore(engine: RealSearchEngine): Promise<BackendStore> {
  await removeIndices(engine)
  return openEngineStore(engineOptions(engine))
}

export async function removeIndices(engine: RealSearchEngine): Promise<void> {
  const indices = (await engine.client.ok('/_cat/indices/fleetsearch-*?format=json')) as { index: string }[]
  for (const { index } of indices) await engine.client.ok(`/${index}`, { method: 'DELETE' })
}

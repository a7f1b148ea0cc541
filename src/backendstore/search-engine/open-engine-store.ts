/** Opens the store of an engine by its kind. */
import type { OpenEngineStore } from '../engine-store.ts'
import { openElasticsearchStore } from '../elasticsearch/store.ts'
import { openOpenSearchStore } from '../opensearch/store.ts'

export const openEngineStore: OpenEngineStore = (options) =>
  options.kind === 'opensearch' ? openOpenSearchStore(options) : openElasticsearchStore(options)

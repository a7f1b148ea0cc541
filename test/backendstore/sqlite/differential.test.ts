import { rmSync } from 'node:fs'
import { searchSuite } from '../../conformance/search-suite.ts'
import { newStore } from './stores.ts'

searchSuite(async () => {
  const { store, folder } = await newStore()
  return {
    store,
    dispose: async () => {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
})

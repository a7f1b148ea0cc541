import { rmSync } from 'node:fs'
import { visibleDocumentsSuite } from '../../conformance/visible-documents-suite.ts'
import { newStore } from './stores.ts'

visibleDocumentsSuite(async () => {
  const { store, folder } = await newStore()
  return {
    store,
    async dispose() {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
})

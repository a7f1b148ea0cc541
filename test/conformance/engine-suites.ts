/** Every suite of stores over one real search engine: `engineSuites(name)` from a test file of its own. */
import { after, before, describe } from 'node:test'
import { newEngineStore } from '../support/engine-stores.ts'
import { startSearchEngine, type RealSearchEngine, type SearchEngineName } from '../support/real-parts/index.ts'
import { storeSuite, type OpenedStore } from './backend-store-suite.ts'
import { engineStoreSuite } from './engine-store-suite.ts'
import { meddledIndicesSuite } from './meddled-indices-suite.ts'
import { nativeSearchSuite } from './native-search-suite.ts'
import { searchSuite } from './search-suite.ts'
import { visibleDocumentsSuite } from './visible-documents-suite.ts'

/** Worlds of random objects: each costs an engine a second or two. */
const RUNS = 12

export function engineSuites(name: SearchEngineName): void {
  describe(`a store in ${name}`, () => {
    let engine: RealSearchEngine
    before(async () => {
      engine = await startSearchEngine(name)
    })
    after(() => engine.stop())

    const open = async (): Promise<OpenedStore> => {
      const store = await newEngineStore(engine)
      return { store, dispose: () => store.close() }
    }
    describe('as every store', () => storeSuite(open))
    describe('as an engine', () => engineStoreSuite(() => engine))
    describe('whose indices others change by hand', () => meddledIndicesSuite(() => engine))
    describe('differential', () => searchSuite(open, { runs: RUNS }))
    describe('rights', () => visibleDocumentsSuite(open))
    describe('in its own language', () => nativeSearchSuite(open))
  })
}

import { engineSuites } from '../conformance/engine-suites.ts'

engineSuites('opensearch-2')

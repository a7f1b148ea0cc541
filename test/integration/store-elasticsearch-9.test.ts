import { engineSuites } from '../conformance/engine-suites.ts'

engineSuites('elasticsearch-9')

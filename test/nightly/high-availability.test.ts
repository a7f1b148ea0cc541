/** The long form of test/e2e/high-availability.test.ts. */
import { replicaSuite } from '../support/replica-suite.ts'

replicaSuite({ killingMs: 180_000 })

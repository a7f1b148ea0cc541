/** Two replicas of `serve` behind one APIService: how they start, die, are replaced, and agree. */
import { replicaSuite } from '../support/replica-suite.ts'

replicaSuite({ killingMs: 30_000 })

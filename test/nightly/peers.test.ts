/** As in test/peers/replica-peers.test.ts, for more seeds. */
import { peersByChance } from '../peers/by-chance.ts'

peersByChance(Array.from({ length: 60 }, (_, i) => i + 1))

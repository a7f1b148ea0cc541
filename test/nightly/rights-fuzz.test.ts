/** The long form of test/integration/rights-fuzz.test.ts, over both families of engines. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { compareReviews } from '../support/review-fuzz.ts'
import { compareAnswers } from '../support/rights-fuzz.ts'
import { startRightsWorld, type RightsWorld } from '../support/rights-world.ts'

for (const engine of ['elasticsearch-9', 'opensearch-3'] as const) {
  describe(`rights in real members, at length, searched in ${engine}`, () => {
    let world: RightsWorld
    before(async () => {
      world = await startRightsWorld(engine)
    })
    after(() => world.stop())

    test('10,000 answers are what the members’ own add up to', async (t) => {
      const seed = 1 + Math.floor(Math.random() * 1_000_000)
      t.diagnostic(`seed ${seed}`)
      const { total, comparisons, outcomes } = await compareAnswers(world, { rounds: 40, perRound: 250, seed })
      t.diagnostic(JSON.stringify({ ...comparisons, outcomes }))
      assert.equal(total, 10_000)
      assert.deepEqual(world.service.faults, [])
    })

    // Decided without a search: one engine is enough.
    if (engine === 'elasticsearch-9') {
      test('20,000 decisions are those of SubjectAccessReviews', async (t) => {
        const seed = 1 + Math.floor(Math.random() * 1_000_000)
        t.diagnostic(`seed ${seed}`)
        t.diagnostic(JSON.stringify(await compareReviews(world, { questions: 20_000, perPolicy: 1_000, seed })))
      })
    }
  })
}

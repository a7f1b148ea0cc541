/** Rights by chance, over two real members. The nightly form asks more (test/nightly/rights-fuzz.test.ts). */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { compareReviews } from '../support/review-fuzz.ts'
import { compareAnswers } from '../support/rights-fuzz.ts'
import { startRightsWorld, type RightsWorld } from '../support/rights-world.ts'

describe('rights in real members', () => {
  let world: RightsWorld
  before(async () => {
    world = await startRightsWorld('opensearch-3')
  })
  after(() => world.stop())

  test('lists, gets, watches and searches show what the members’ own answers to that caller add up to', async (t) => {
    const { total, comparisons, outcomes } = await compareAnswers(world, { rounds: 8, perRound: 275, seed: 1 })
    t.diagnostic(`${total} comparisons: ${JSON.stringify({ ...comparisons, outcomes })}`)
    assert.ok(total >= 2_000)
    for (const outcome of ['all', 'part', 'none']) assert.ok((outcomes[outcome] ?? 0) > total / 20, outcome)
    assert.deepEqual(world.service.faults, [])
  })

  test('the evaluator decides as SubjectAccessReviews do', async (t) => {
    const tally = await compareReviews(world, { questions: 4_000, perPolicy: 1_000, seed: 2 })
    t.diagnostic(JSON.stringify(tally))
    assert.ok(tally.allowed > tally.questions / 20)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IndexCheck } from '../../src/app/index-check.ts'
import { FakeClock } from '../support/fake-clock.ts'

function setUp() {
  const clock = new FakeClock()
  const state = { synced: false }
  return { clock, state, check: new IndexCheck(() => state.synced, clock, 30_000) }
}

describe('readiness of the search store', () => {
  it('comes when the store has had, once, all that the cache had after its first sync', () => {
    const { check, state } = setUp()
    assert.deepEqual(check.check(), { state: 'pending', reason: 'the first sync is not over' })
    state.synced = true
    assert.deepEqual(check.check(), { state: 'pending', reason: 'the search store is catching up' })
    check.caughtUp()
    assert.deepEqual(check.check(), { state: 'ready' })
  })
  it('does not wait for a store that fails longer than its time', async () => {
    const { check, clock, state } = setUp()
    state.synced = true
    check.check()
    await clock.advance(29_999)
    assert.equal(check.check().state, 'pending')
    await clock.advance(1)
    assert.equal(check.check().state, 'ready')
  })
})

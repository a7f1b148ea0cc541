import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { watchParent } from '../../src/app/parent-watch.ts'
import { StopWish } from '../../src/app/stop-wish.ts'
import { FakeClock } from '../support/fake-clock.ts'

describe('the wish to stop', () => {
  it('is one where Ctrl-C comes from the terminal and from npm, and ends at once where it is repeated', async () => {
    const clock = new FakeClock()
    let exits = 0
    const wish = new StopWish(() => (exits += 1), clock)
    wish.stop('SIGINT')
    assert.deepEqual([wish.signal.aborted, (wish.signal.reason as Error).message], [true, 'SIGINT'])
    await clock.advance(100)
    wish.stop('SIGINT')
    assert.equal(exits, 0)
    await clock.advance(151)
    wish.stop('SIGINT')
    assert.equal(exits, 1)
  })
})

describe('the parent of a program that npm started', () => {
  function setUp(parents: Record<number, number>, own: number) {
    const clock = new FakeClock()
    const state = { own, gone: 0 }
    const stop = watchParent({
      clock,
      onGone: () => (state.gone += 1),
      parent: () => state.own,
      parentOfShell: (pid) => parents[pid],
    })
    return { clock, state, stop }
  }

  it('ends it when the shell is gone, as when npm passes SIGTERM on', async () => {
    const { clock, state } = setUp({ 20: 10 }, 20)
    await clock.advance(10_000)
    assert.equal(state.gone, 0)
    state.own = 1
    await clock.advance(250)
    assert.equal(state.gone, 1)
    assert.equal(clock.pending, 0, 'told once')
  })

  it('ends it when npm is killed above its shell', async () => {
    const parents: Record<number, number> = { 20: 10 }
    const { clock, state } = setUp(parents, 20)
    parents[20] = 1
    await clock.advance(250)
    assert.equal(state.gone, 1)
  })

  it('is npm itself where the shell was replaced; what is above npm is nobody’s business', async () => {
    const { clock, state, stop } = setUp({}, 10)
    await clock.advance(1_000)
    assert.equal(state.gone, 0)
    state.own = 1
    await clock.advance(250)
    assert.equal(state.gone, 1)
    stop()
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sleep } from '../../src/util/sleep.ts'
import { FakeClock } from '../support/fake-clock.ts'

/** A clock that counts the timers that are armed. */
class CountingClock extends FakeClock {
  armed = 0

  override setTimeout(callback: () => void, ms: number): () => void {
    this.armed++
    const cancel = super.setTimeout(() => {
      this.armed--
      callback()
    }, ms)
    return () => {
      this.armed--
      cancel()
    }
  }
}

describe('sleep', () => {
  test('ends when its time has come, not before', async () => {
    const clock = new FakeClock()
    let awake = false
    const slept = sleep(1_000, clock, new AbortController().signal).then(() => (awake = true))
    await clock.advance(999)
    assert.equal(awake, false)
    await clock.advance(1)
    await slept
    assert.equal(awake, true)
  })

  test('rejects with the reason as soon as it is aborted, and disarms its timer', async () => {
    const clock = new CountingClock()
    const controller = new AbortController()
    const slept = sleep(1_000, clock, controller.signal)
    const reason = new Error('cluster left')
    controller.abort(reason)
    await assert.rejects(slept, reason)
    assert.equal(clock.armed, 0)
  })

  test('does not begin once aborted', async () => {
    const clock = new CountingClock()
    const reason = new Error('stopping')
    await assert.rejects(sleep(1_000, clock, AbortSignal.abort(reason)), reason)
    assert.equal(clock.armed, 0)
  })

  test('takes its listener off the signal when it ends', async () => {
    const clock = new FakeClock()
    const { signal } = new AbortController()
    let listeners = 0
    const { addEventListener, removeEventListener } = signal
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++
      addEventListener.apply(signal, args)
    }
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--
      removeEventListener.apply(signal, args)
    }
    const slept = sleep(10, clock, signal)
    assert.equal(listeners, 1)
    await clock.advance(10)
    await slept
    assert.equal(listeners, 0)
  })
})

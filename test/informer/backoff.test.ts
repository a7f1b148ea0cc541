import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Backoff, RETRY, SLOW_RETRY } from '../../src/informer/backoff.ts'
import { pause } from '../../src/informer/pause.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'

test('doubles from 0.8 s to 30 s, jittered up to twice', () => {
  const clock = new FakeClock()
  const waits = (random: number): number[] => {
    const backoff = new Backoff(RETRY, clock, () => random)
    return Array.from({ length: 8 }, () => backoff.nextMs())
  }
  assert.deepEqual(waits(0), [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000])
  assert.deepEqual(waits(0.5).slice(0, 2), [1_200, 2_400])
})

test('starts over after two quiet minutes, or when told', async () => {
  const clock = new FakeClock()
  const backoff = new Backoff(RETRY, clock, () => 0)
  for (let i = 0; i < 50; i++) backoff.nextMs()
  await clock.advance(120_000)
  assert.equal(backoff.nextMs(), 30_000)
  await clock.advance(120_001)
  assert.equal(backoff.nextMs(), 800)
  backoff.nextMs()
  backoff.reset()
  assert.equal(backoff.nextMs(), 800)
})

test('the slow one does not start over between its own tries', async () => {
  const clock = new FakeClock()
  const backoff = new Backoff(SLOW_RETRY, clock, () => 0.99)
  const waits: number[] = []
  for (let i = 0; i < 6; i++) {
    const wait = backoff.nextMs()
    waits.push(Math.round(wait / 1_000))
    await clock.advance(wait)
  }
  assert.deepEqual(waits, [10, 20, 40, 80, 159, 318])
})

test('a pause ends in time, soon after a wake-up, or at once when aborted, and leaves nothing behind', async () => {
  const clock = new FakeClock()
  const tools = { clock, random: () => 0.5 }
  const listeners = new Set<() => void>()
  const waker = {
    onRecovery: (listener: () => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  const run = (signal: AbortSignal): { ended: () => number | undefined } => {
    let endedMs: number | undefined
    const startMs = clock.monotonicMs()
    void pause(30_000, tools, waker, signal).then(() => (endedMs = clock.monotonicMs() - startMs))
    return { ended: () => endedMs }
  }
  const whole = run(AbortSignal.any([]))
  await clock.advance(29_999)
  assert.equal(whole.ended(), undefined)
  await clock.advance(1)
  assert.equal(whole.ended(), 30_000)

  const woken = run(AbortSignal.any([]))
  await clock.advance(1_000)
  for (const listener of listeners) listener()
  await clock.advance(1_000)
  assert.equal(woken.ended(), 1_250, 'within half a second of the wake-up, spread')

  const stop = new AbortController()
  const aborted = run(stop.signal)
  stop.abort()
  await settle()
  assert.equal(aborted.ended(), 0)
  assert.equal(run(stop.signal).ended(), undefined)
  await settle()
  assert.deepEqual([clock.pending, listeners.size], [0, 0])
})

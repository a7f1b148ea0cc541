import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchSignal } from '../../src/http/watch-signal.ts'
import { FakeClock } from '../support/fake-clock.ts'

async function lasts(timeoutSeconds: number | undefined, minWatchSeconds: number | undefined, random: number) {
  const clock = new FakeClock()
  const { signal } = new AbortController()
  const request = { signal, ...(minWatchSeconds === undefined ? {} : { minWatchSeconds }) }
  const lifetime = watchSignal(request, timeoutSeconds, clock, () => random)
  for (const [second, step] of [
    [0, 10],
    [10, 50],
    [60, 40],
    [100, 2_600],
    [2_700, 3e6],
  ] as const) {
    if (lifetime.signal.aborted) return second
    await clock.advance(step * 1000)
  }
  lifetime.dispose()
  return Infinity
}

test('a watch lasts as long as its client says, else between the least time and twice that', async () => {
  assert.equal(await lasts(10, 50, 0), 10)
  assert.equal(await lasts(undefined, 50, 0.2), 60)
  assert.equal(await lasts(0, 50, 0.9), 100)
  assert.equal(await lasts(undefined, undefined, 0.5), 2_700)
})

test('a time that no timer can hold ends no watch at once', async () => {
  assert.equal(await lasts(1e9, 50, 0), Infinity)
  assert.equal(await lasts(undefined, 0, 0), Infinity)
})

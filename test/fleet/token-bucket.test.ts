import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenBucket } from '../../src/fleet/token-bucket.ts'
import { FakeClock } from '../support/fake-clock.ts'

const signal = AbortSignal.any([])

/** How many of `count` callers were let through at each of these times. */
async function passed(
  bucket: TokenBucket,
  clock: FakeClock,
  count: number,
  timesMs: readonly number[],
): Promise<number[]> {
  let through = 0
  for (let i = 0; i < count; i++) void bucket.acquire(signal).then(() => through++)
  const seen: number[] = []
  let nowMs = 0
  for (const atMs of timesMs) {
    await clock.advance(atMs - nowMs)
    nowMs = atMs
    seen.push(through)
  }
  return seen
}

test('a burst passes at once, the rest at the rate', async () => {
  const clock = new FakeClock()
  assert.deepEqual(
    await passed(new TokenBucket(10, 5, clock), clock, 20, [0, 99, 100, 1_000, 1_500]),
    [5, 5, 6, 15, 20],
  )
})

test('what is not used is saved up to the burst', async () => {
  const clock = new FakeClock()
  const bucket = new TokenBucket(10, 5, clock)
  await passed(bucket, clock, 5, [0])
  await clock.advance(3_600_000)
  assert.deepEqual(await passed(bucket, clock, 20, [0, 100]), [5, 6])
})

test('no limit', async () => {
  const clock = new FakeClock()
  assert.deepEqual(await passed(new TokenBucket(0, 0, clock), clock, 1_000, [0]), [1_000])
  assert.equal(clock.pending, 0)
})

test('an abort ends the wait, gives the token back and leaves no timer', async () => {
  const clock = new FakeClock()
  const bucket = new TokenBucket(1, 1, clock)
  await bucket.acquire(signal)
  const stop = new AbortController()
  const waits = Array.from({ length: 10 }, () => bucket.acquire(stop.signal))
  stop.abort(new Error('stopped'))
  for (const wait of waits) await assert.rejects(wait, { message: 'stopped' })
  await assert.rejects(bucket.acquire(stop.signal), { message: 'stopped' })
  assert.equal(clock.pending, 0)
  assert.deepEqual(await passed(bucket, clock, 1, [999, 1_000]), [0, 1])
})

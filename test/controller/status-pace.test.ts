import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatusPace } from '../../src/controller/status-pace.ts'
import { FakeClock } from '../support/fake-clock.ts'

/** Writes of an hour in which every look, each 5 s, finds something to write. */
async function writesOfAnHour(isNews: boolean): Promise<number> {
  const clock = new FakeClock()
  const pace = new StatusPace(clock)
  let writes = 0
  for (let look = 0; look < 720; look++) {
    if (pace.take('rr', isNews)) writes += 1
    clock.tick(5_000)
  }
  return writes
}

test('a member that comes and goes all the time is written about twice a minute, a wording once', async () => {
  assert.equal(await writesOfAnHour(true), 5 + 119)
  assert.equal(await writesOfAnHour(false), 60)
})

test('news is written at once after a wording, a wording not within a minute of news', () => {
  const clock = new FakeClock()
  const pace = new StatusPace(clock)
  assert.ok(pace.take('rr', false))
  assert.ok(pace.take('rr', true))
  clock.tick(59_000)
  assert.ok(!pace.take('rr', false))
  clock.tick(1_000)
  assert.ok(pace.take('rr', false))
})

test('registries do not hold up each other, and one that is gone is forgotten', () => {
  const clock = new FakeClock()
  const pace = new StatusPace(clock)
  while (pace.take('a', true));
  assert.ok(pace.take('b', true))
  pace.keep(new Set(['b']))
  assert.ok(pace.take('a', true), 'another of that name')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isStatusError } from '../../../src/kube/status-error.ts'
import { AsyncSearches, readAsyncLook, readAsyncOptions } from '../../../src/search/passthrough/async-searches.ts'
import { ADMIN } from '../../http/loopback.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const ANN = { ...ADMIN, name: 'ann' }
const BOB = { ...ADMIN, name: 'bob' }
const KEPT = { waitMs: 1_000, keepMs: 60_000, keepOnCompletion: true }
const found = (): Promise<object> => Promise.resolve({ hits: 1 })

/** A search that ends when it is told to. */
function pending(): { readonly search: () => Promise<object>; end(): void } {
  const { promise, resolve } = Promise.withResolvers<object>()
  return { search: () => promise, end: () => resolve({ hits: 2 }) }
}

test('a search that is done in time has no id unless it shall be kept', async () => {
  const searches = new AsyncSearches(new FakeClock())
  const whole = await searches.submit(ANN, { ...KEPT, keepOnCompletion: false }, found)
  assert.deepEqual([whole.id, whole.running, whole.response], [undefined, false, { hits: 1 }])
  const kept = await searches.submit(ANN, KEPT, found)
  assert.match(kept.id ?? '', /^[\w-]{32}$/)
  assert.deepEqual((await searches.read(ANN, kept.id ?? '', {})).response, { hits: 1 })
})

test('one that goes on is read later, by who submitted it with the same groups alone, until its time is up', async () => {
  const clock = new FakeClock()
  const searches = new AsyncSearches(clock)
  const { search, end } = pending()
  const submitted = searches.submit(ANN, { ...KEPT, keepOnCompletion: false }, search)
  await clock.advance(1_000)
  const { id = '', running, response } = await submitted
  assert.deepEqual([running, response], [true, undefined])
  for (const stranger of [BOB, { ...ANN, groups: [] }, { ...ANN, uid: 'another' }]) {
    await assert.rejects(searches.read(stranger, id, {}), (error) => isStatusError(error, 'notFound'))
    assert.throws(
      () => searches.remove(stranger, id),
      (error) => isStatusError(error, 'notFound'),
    )
  }
  end()
  assert.deepEqual((await searches.read(ANN, id, { waitMs: 200, keepMs: 120_000 })).response, { hits: 2 })
  await clock.advance(119_000)
  assert.equal((await searches.read(ANN, id, {})).running, false)
  await clock.advance(1_000)
  await assert.rejects(searches.read(ANN, id, {}), (error) => isStatusError(error, 'notFound'))
})

test('what a search fails with is told to who waits and to who asks later', async () => {
  const clock = new FakeClock()
  const searches = new AsyncSearches(clock)
  const failing = (): Promise<object> => Promise.reject(new Error('refused'))
  await assert.rejects(searches.submit(ANN, KEPT, failing), /refused/)
  const { promise, reject } = Promise.withResolvers<object>()
  const submitted = searches.submit(ANN, KEPT, () => promise)
  await clock.advance(1_000)
  const { id = '' } = await submitted
  reject(new Error('later'))
  await assert.rejects(searches.read(ANN, id, { waitMs: 100 }), /later/)
})

test('so many of one user and so many in all, those that run although they were deleted among them', async () => {
  const clock = new FakeClock()
  const searches = new AsyncSearches(clock)
  const refused = (error: unknown): boolean => isStatusError(error, 'tooManyRequests')
  const { search, end } = pending()
  for (let i = 0; i < 16; i++) {
    const submitted = searches.submit(ANN, KEPT, search)
    await clock.advance(1_000)
    searches.remove(ANN, (await submitted).id ?? '')
  }
  await assert.rejects(searches.submit(ANN, KEPT, found), refused)
  for (const name of ['b', 'c', 'd']) {
    for (let i = 0; i < 16; i++) await searches.submit({ ...ANN, name }, KEPT, found)
  }
  await assert.rejects(searches.submit(BOB, KEPT, found), refused)
  assert.deepEqual([searches.now(), searches.most], [64, 64])
  end()
  await clock.advance(0)
  assert.equal((await searches.submit(ANN, KEPT, found)).running, false)
})

test('answers that are kept are bounded in bytes, also where all were under way before one was done', async () => {
  const clock = new FakeClock()
  const searches = new AsyncSearches(clock)
  const refused = (error: unknown): boolean => isStatusError(error, 'tooManyRequests')
  const { promise, resolve } = Promise.withResolvers<object>()
  const submitted = [ANN, BOB].map((user) => searches.submit(user, KEPT, () => promise))
  await clock.advance(1_000)
  const [ann = '', bob = ''] = (await Promise.all(submitted)).map(({ id }) => id)
  resolve({ text: 'x'.repeat(33 * 1024 * 1024) })
  assert.equal((await searches.read(ANN, ann, { waitMs: 100 })).running, false)
  await assert.rejects(searches.read(BOB, bob, { waitMs: 100 }), refused)
  await assert.rejects(
    searches.submit(BOB, KEPT, () => promise),
    refused,
  )
  searches.remove(ANN, ann)
  assert.equal((await searches.submit(BOB, KEPT, () => promise)).running, false)
})

test('an answer that cannot be written is an error to who asks later, and is counted as kept', async () => {
  const clock = new FakeClock()
  const searches = new AsyncSearches(clock)
  const { promise, resolve } = Promise.withResolvers<object>()
  const submitted = searches.submit(ANN, KEPT, () => promise)
  await clock.advance(1_000)
  const { id = '' } = await submitted
  resolve({ value: 1n })
  for (let look = 0; look < 2; look++) {
    await clock.advance(0)
    await assert.rejects(searches.read(ANN, id, {}), /BigInt/)
  }
  assert.equal(searches.now(), 1)
})

test('looks keep it no longer than ten minutes after it was submitted: so old are its rights', async () => {
  const clock = new FakeClock()
  const searches = new AsyncSearches(clock)
  const { id = '', startedMs } = await searches.submit(ANN, { ...KEPT, keepMs: 600_000 }, found)
  await clock.advance(599_000)
  assert.equal((await searches.read(ANN, id, { keepMs: 600_000 })).expiresMs, startedMs + 600_000)
  await clock.advance(1_000)
  await assert.rejects(searches.read(ANN, id, {}), (error) => isStatusError(error, 'notFound'))
})

test('who asks for the status alone is not given the response', async () => {
  const searches = new AsyncSearches(new FakeClock())
  const { id = '' } = await searches.submit(ANN, KEPT, found)
  const { running, response } = await searches.read(ANN, id, { statusOnly: true })
  assert.deepEqual([running, response], [false, undefined])
})

test('times as engines write them, no longer than is kept here', () => {
  const read = (text: string) => readAsyncOptions(new URLSearchParams(text))
  assert.deepEqual(read(''), { waitMs: 1_000, keepMs: 300_000, keepOnCompletion: false })
  assert.deepEqual(read('wait_for_completion_timeout=200ms&keep_alive=5d&keep_on_completion=true'), {
    waitMs: 200,
    keepMs: 600_000,
    keepOnCompletion: true,
  })
  assert.deepEqual(readAsyncLook(new URLSearchParams('keep_alive=1m')), { waitMs: 0, keepMs: 60_000 })
  for (const bad of ['keep_alive=1', 'keep_alive=soon', 'wait_for_completion_timeout=-1']) {
    assert.throws(
      () => read(bad),
      (error) => isStatusError(error, 'badRequest'),
      bad,
    )
  }
})

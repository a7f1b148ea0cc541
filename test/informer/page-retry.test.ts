import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemberError } from '../../src/fleet/member-error.ts'
import { PageRetry } from '../../src/informer/page-retry.ts'
import { ReflectorError } from '../../src/informer/reflector-error.ts'
import { FakeClock } from '../support/fake-clock.ts'

const busy = new ReflectorError('throttled', 'list', 'busy', { retryAfterMs: 1_000 })
const broken = new MemberError('closed', 'broken')
const item = (text: string): Uint8Array => Buffer.from(text)

/** Each try delivers so many items of the page, then fails, or (undefined) succeeds. */
async function page(repeatable: boolean, tries: readonly (readonly [number, Error | undefined])[]) {
  const clock = new FakeClock()
  const taken: string[] = []
  let asked = 0
  const result = new PageRetry(clock, () => 0).run(
    repeatable,
    { add: (bytes) => taken.push(Buffer.from(bytes).toString()) },
    (onItem) => {
      const [items, error] = tries[Math.min(asked++, tries.length - 1)] ?? [0, undefined]
      for (let i = 0; i < items; i++) onItem(item(`item-${i}`))
      return error === undefined ? Promise.resolve('head') : Promise.reject(error)
    },
    AbortSignal.any([]),
  )
  const outcome = result.catch((error: unknown) => error)
  for (let i = 0; i < 40; i++) await clock.advance(5_000)
  return { outcome: await outcome, taken, asked, pending: clock.pending }
}

test('a page broken off is asked for again, and what was taken is not taken twice', async () => {
  const { outcome, taken, asked } = await page(true, [
    [2, broken],
    [1, broken],
    [4, undefined],
  ])
  assert.equal(outcome, 'head')
  assert.deepEqual(taken, ['item-0', 'item-1', 'item-2', 'item-3'])
  assert.equal(asked, 3)
})

test('the first page is not of a fixed snapshot: broken off, it fails', async () => {
  const { outcome, asked } = await page(false, [[2, broken]])
  assert.deepEqual([outcome, asked], [broken, 1])
})

test('there are bounds: three breaks, ten tries of a busy server', async () => {
  assert.equal((await page(true, [[0, broken]])).asked, 4)
  const throttled = await page(false, [[0, busy]])
  assert.deepEqual([throttled.outcome, throttled.asked, throttled.pending], [busy, 10, 0])
})

test('what waiting does not mend is not repeated', async () => {
  const forbidden = new ReflectorError('forbidden', 'list', 'no')
  assert.equal((await page(true, [[0, forbidden]])).asked, 1)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoSlots, textMemo } from '../../src/util/text-memo.ts'

test('every text gets its own answer, however many share the table', () => {
  const memo = textMemo((text) => `<${text}>`)
  const texts = [
    ...Array.from({ length: 20_000 }, (_, i) => `name-${String(i)}`),
    ...Array.from({ length: 2_000 }, (_, i) => `${'p'.repeat(60)}${String(i)}${'s'.repeat(60)}`), // alike where it looks
    ...['', 'a', '\u0000', 'é', 'x'.repeat(300)],
  ]
  for (let round = 0; round < 3; round++) for (const text of texts) assert.equal(memo(text), `<${text}>`)
})

test('what comes again is computed once, also where undefined was made of it', () => {
  let computed = 0
  const memo = textMemo(() => void computed++)
  for (let i = 0; i < 10; i++) memo('again')
  assert.equal(computed, 1)
})

test('a table of a thousand texts that come again learns nearly all of them', () => {
  let computed = 0
  const memo = textMemo((text) => {
    computed++
    return text
  })
  for (let round = 0; round < 40; round++) for (let i = 0; i < 1_000; i++) memo(`node-${String(i)}`)
  computed = 0
  for (let i = 0; i < 1_000; i++) memo(`node-${String(i)}`)
  assert.ok(computed < 500, `${String(computed)} of 1000 computed again`)
})

test('long texts are not kept', () => {
  let computed = 0
  const memo = textMemo(() => void computed++)
  for (let i = 0; i < 3; i++) memo('x'.repeat(257))
  assert.equal(computed, 3)
})

test('slots are counted as tables grow, which they do while texts come again', () => {
  const before = memoSlots()
  const memo = textMemo((text) => text)
  assert.equal(memoSlots() - before, 256)
  for (let round = 0; round < 20; round++) for (let i = 0; i < 1_000; i++) memo(`node-${String(i)}`)
  const grown = memoSlots() - before
  assert.ok(grown > 256 && grown <= 4_096, String(grown))
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { humanDuration, parseGoDuration } from '../../src/kube/duration.ts'
import { titleOf, vectorsOf } from './apimachinery.ts'

const NANOSECONDS_PER_MS = 1e6

describe('humanDuration prints what kubectl prints', () => {
  for (const { ms, printed } of vectorsOf('age')) {
    test(`${String(ms)} ms as ${printed}`, () => {
      assert.equal(humanDuration(ms), printed)
    })
  }
})

describe('parseGoDuration takes what Go takes', () => {
  for (const { text, error, value } of vectorsOf('duration')) {
    test(titleOf(text), () => {
      const expected = error === '' ? Number(value) / NANOSECONDS_PER_MS : undefined
      assert.equal(parseGoDuration(text), expected === 0 ? 0 : expected)
    })
  }
})

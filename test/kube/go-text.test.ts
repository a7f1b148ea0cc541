import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { goJsonString, goQuote } from '../../src/kube/go-text.ts'
import { titleOf, vectorsOf } from './apimachinery.ts'

describe('text as Go prints it', () => {
  for (const { text, printed, value } of vectorsOf('quote')) {
    test(titleOf(text), () => {
      assert.equal(goQuote(text), printed)
      assert.equal(goJsonString(text), value)
    })
  }
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { compareBytes, compareUtf8 } from '../../src/util/bytes.ts'

describe('order by bytes', () => {
  test('of strings is that of their UTF-8 bytes', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', '/', '漢', '\ue000', '\uffff', '😀', '\u{10000}', '\u0000'),
    })
    fc.assert(
      fc.property(text, text, (a, b) => {
        assert.equal(Math.sign(compareUtf8(a, b)), compareBytes(Buffer.from(a), Buffer.from(b)))
      }),
      { numRuns: 1_000 },
    )
    assert.ok(compareUtf8('\uffff', '\u{10000}') < 0, 'where UTF-16 units order the other way round')
  })

  test('is unsigned, the shorter first', () => {
    assert.ok(compareBytes(Buffer.of(0x7f), Buffer.of(0x80)) < 0)
    assert.ok(compareBytes(Buffer.of(1), Buffer.of(1, 0)) < 0)
    assert.equal(compareBytes(new Uint8Array([1, 2]), Buffer.of(1, 2)), 0)
  })
})

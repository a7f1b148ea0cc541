import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { compareBytes, compareUtf8, joinedBytes } from '../../src/util/bytes.ts'

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

test('parts that stand behind each other are one view, others are copied', () => {
  const memory = Buffer.from('-abcdef-')
  const parts = [memory.subarray(1, 3), memory.subarray(3, 3), memory.subarray(3, 7)]
  const joined = joinedBytes(parts)
  assert.equal(joined.toString(), 'abcdef')
  assert.equal(joined.buffer, memory.buffer)
  assert.equal(joined.byteOffset, memory.byteOffset + 1)
  const apart = joinedBytes([memory.subarray(1, 3), memory.subarray(4, 7)])
  assert.equal(apart.toString(), 'abdef')
  memory.fill('x')
  assert.equal(apart.toString(), 'abdef')
  assert.equal(joinedBytes([Buffer.from('a'), Buffer.from('b')]).toString(), 'ab')
  assert.equal(joinedBytes([]).length, 0)
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readEnvelope, readFields, textOf } from '../../src/kube/protobuf.ts'

const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))]

/** A length-delimited field. */
function field(number: number, value: Uint8Array | string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes])
}

describe('protobuf without a schema', () => {
  it('reads fields by number and skips numbers of other types', () => {
    const message = Buffer.concat([
      field(1, 'a'),
      Buffer.from([...varint(3 * 8), ...varint(300)]),
      Buffer.from([4 * 8 + 5, 1, 2, 3, 4]),
      Buffer.from([5 * 8 + 1, 1, 2, 3, 4, 5, 6, 7, 8]),
      field(200, 'ü'.repeat(200)),
      field(1, 'b'),
    ])
    const fields = readFields(message)
    assert.deepEqual(fields?.get(1)?.map(String), ['a', 'b'])
    assert.equal(textOf(fields!, 200), 'ü'.repeat(200))
    assert.equal(textOf(fields!, 9), '')
  })

  it('reads the envelope of Kubernetes', () => {
    const type = Buffer.concat([field(1, 'v1'), field(2, 'Pod')])
    const bytes = Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, 'raw')])
    assert.deepEqual(readEnvelope(bytes), { apiVersion: 'v1', kind: 'Pod', raw: Buffer.from('raw') })
    assert.equal(readEnvelope(Buffer.from('{"kind":"Pod"}')), undefined)
  })

  it('takes any bytes without throwing, and no field beyond them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const fields = readFields(Buffer.from(bytes))
        const total = [...(fields?.values() ?? [])].flat().reduce((sum, value) => sum + value.length, 0)
        assert.ok(total <= bytes.length)
      }),
    )
    assert.equal(readFields(Buffer.from([0x0a, 0x7f, 1])), undefined, 'a length beyond the end')
    assert.equal(readFields(Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff])), undefined, 'a tag without end')
  })
})

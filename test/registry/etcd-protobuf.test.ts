import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MalformedMessageError, ProtoWriter, readFields, readMessage } from '../../src/registry/etcd/protobuf.ts'
import { reportsProgress } from '../../src/registry/etcd/server-version.ts'

test('numbers and bytes of any size come back as they were', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.uint8Array(), (number, bytes) => {
      const message = new ProtoWriter().explicitNumber(3, number).message(2_000, bytes).finish()
      const fields = [...readFields(message)]
      assert.deepEqual(fields, [
        { id: 3, number: BigInt.asUintN(64, number) },
        { id: 2_000, bytes: Buffer.from(bytes) },
      ])
    }),
  )
})

test('the bytes are those of the format, and unknown fields of every wire type are passed over', () => {
  const message = new ProtoWriter().number(1, 300).bytes(2, 'testing').number(4, 0).finish()
  assert.equal(message.toString('hex'), '08ac02' + '120774657374696e67')
  const others = Buffer.from('1d01020304' + '210102030405060708' + '2803' + '32026869', 'hex')
  const seen: unknown[] = []
  readMessage(Buffer.concat([others, message]), {
    numbers: { 1: (value) => seen.push(value) },
    bytes: { 2: (value) => seen.push(value.toString()) },
  })
  assert.deepEqual(seen, [300n, 'testing'])
})

test('what is cut short or no message is said to be malformed, never read past its end', () => {
  const whole = new ProtoWriter().number(1, 300).bytes(2, 'testing').finish()
  for (let length = 1; length < whole.length; length++) {
    if (length === 3) continue // the end of the first field
    assert.throws(() => [...readFields(whole.subarray(0, length))], MalformedMessageError)
  }
  assert.throws(() => [...readFields(Buffer.alloc(20, 0xff))], MalformedMessageError)
  assert.throws(() => [...readFields(Buffer.from('0b', 'hex'))], MalformedMessageError)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        for (const field of readFields(Buffer.from(bytes))) assert.ok(field.id >= 0)
      } catch (error) {
        assert.ok(error instanceof MalformedMessageError)
      }
    }),
  )
})

test('progress is asked for where the server tells the truth about it', () => {
  for (const version of ['3.4.31', '3.5.13', '3.5.21', '3.6.0', '3.7.3', '4.0.0-rc.1']) {
    assert.ok(reportsProgress(version), version)
  }
  for (const version of ['3.3.99', '3.4.30', '3.5.12', '3.5.0+git', '2.3.8', '', 'unknown']) {
    assert.ok(!reportsProgress(version), version)
  }
})

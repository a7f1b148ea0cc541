import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { goJson } from '../../src/kube/json-deep.ts'
import { goNumber, parseExact } from '../../src/kube/json-exact.ts'

const parse = (text: string) => parseExact(Buffer.from(text))

describe('exact JSON', () => {
  it('keeps integers that a JavaScript number cannot hold', () => {
    assert.deepEqual(parse('{"a":9007199254740993,"b":[-9223372036854775808],"c":1}'), {
      a: 9007199254740993n,
      b: [-9223372036854775808n],
      c: 1,
    })
    assert.deepEqual(parse('[9007199254740991, 1234567890123456.5, "9007199254740993"]'), [
      9007199254740991,
      1234567890123456.5,
      '9007199254740993',
    ])
    assert.deepEqual(parse('[12345678901234567890123]'), [1.2345678901234568e22], 'beyond 64 bits')
    assert.deepEqual(Object.keys(parse('{"__proto__":{"a":9007199254740993}}') as object), ['__proto__'])
  })

  it('writes JSON as Go does', () => {
    assert.equal(
      goJson({ b: [1, null, 'x<&>'], a: { '\u{10000}': 1n, '\uffff': true } }),
      String.raw`{"a":{"￿":true,"𐀀":1},"b":[1,null,"x\u003c\u0026\u003e"]}`,
    )
  })

  it('prints numbers as Go does', () => {
    const printed = [0, -3, 123456.5, 1234567.5, 0.0001, 0.00001, 0.000123, 1e20, -22499999.5].map(goNumber)
    assert.deepEqual(printed, [
      '0',
      '-3',
      '123456.5',
      '1.2345675e+06',
      '0.0001',
      '1e-05',
      '0.000123',
      '1e+20',
      '-2.24999995e+07',
    ])
  })
})

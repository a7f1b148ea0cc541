import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { duplicateKeys, TooDeepError } from '../../src/apiserver/registries/duplicate-keys.ts'

test('each second key of an object is found, wherever it stands, and nothing else', () => {
  assert.deepEqual(duplicateKeys('{"a":1,"a":2}'), ['a'])
  assert.deepEqual(duplicateKeys('{"spec":{"x":[{"k":1},{"k":1,"k":2,"\\u006b":3}]},"spec":{}}'), [
    'spec.x[1].k',
    'spec.x[1].k',
    'spec',
  ])
  assert.deepEqual(duplicateKeys('{"a":"a","b":["a","a",{"a":{}}],"c":"{\\"a\\":1,\\"a\\":2}"}'), [])
  assert.deepEqual(duplicateKeys('[[{"a":[]},{"a":[],"a":1}]]'), ['[0][1].a'])
  assert.deepEqual(duplicateKeys('{"a,":{":":1,"}":2},"[":[",",":"],"__proto__":1}'), [])
})

test('no object that JavaScript can write has any', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.deepEqual(duplicateKeys(JSON.stringify(value)), [])
      assert.deepEqual(duplicateKeys(`{"x":${JSON.stringify(value)},"x":0}`), ['x'])
    }),
  )
})

test('a text that is too deep is refused, as Go refuses it', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  assert.deepEqual(duplicateKeys(nested(10_000)), [])
  assert.throws(() => duplicateKeys(nested(10_001)), TooDeepError)
})

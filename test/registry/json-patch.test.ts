import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isStatusError, type StatusCode } from '../../src/kube/status-error.ts'
import { parseJsonPatch } from '../../src/registry/json-patch.ts'

const patched = (document: unknown, ...operations: object[]): unknown => parseJsonPatch(operations)(document)
const fails = (code: StatusCode, words: RegExp) => (error: unknown) =>
  isStatusError(error, code) && words.test(error.message)

test('each operation does what RFC 6902 says', () => {
  assert.deepEqual(patched({ a: 1 }, { op: 'add', path: '/b', value: [2] }), { a: 1, b: [2] })
  assert.deepEqual(patched({ a: [1, 3] }, { op: 'add', path: '/a/1', value: 2 }), { a: [1, 2, 3] })
  assert.deepEqual(patched({ a: [1] }, { op: 'add', path: '/a/-', value: 2 }), { a: [1, 2] })
  assert.deepEqual(patched({ a: [1, 2, 3] }, { op: 'remove', path: '/a/1' }), { a: [1, 3] })
  assert.deepEqual(patched({ a: [1, 2] }, { op: 'replace', path: '/a/0', value: null }), { a: [null, 2] })
  assert.deepEqual(patched({ a: { b: 1 }, c: {} }, { op: 'move', from: '/a/b', path: '/c/d' }), { a: {}, c: { d: 1 } })
  assert.deepEqual(patched({ a: { b: 1 } }, { op: 'copy', from: '/a', path: '/c' }), { a: { b: 1 }, c: { b: 1 } })
  assert.deepEqual(patched({ a: 1 }, { op: 'replace', path: '', value: { b: 2 } }), { b: 2 })
  assert.deepEqual(patched({ 'a/b': { 'm~n': 1 } }, { op: 'remove', path: '/a~1b/m~0n' }), { 'a/b': {} })
  assert.deepEqual(patched({ '~1': 1 }, { op: 'test', path: '/~01', value: 1 }), { '~1': 1 })
  assert.deepEqual(patched({ a: { b: [1, { c: 2 }] } }, { op: 'test', path: '/a', value: { b: [1, { c: 2 }] } }), {
    a: { b: [1, { c: 2 }] },
  })
})

test('what cannot be carried out names the operation, and nothing is changed', () => {
  const document = { a: [1], b: { c: 1 } }
  const cases = [
    { op: 'remove', path: '/x' },
    { op: 'replace', path: '/x', value: 1 },
    { op: 'add', path: '/x/y', value: 1 },
    { op: 'add', path: '/a/2', value: 1 },
    { op: 'add', path: '/a/01', value: 1 },
    { op: 'add', path: '/a/length', value: 1 },
    { op: 'add', path: '/b/c/d', value: 1 },
    { op: 'move', from: '/b', path: '/b/c' },
    { op: 'copy', from: '/b/constructor', path: '/d' },
    { op: 'test', path: '/b/c', value: 2 },
    { op: 'test', path: '/b/d', value: 2 },
  ]
  for (const operation of cases) {
    const first = { op: 'add', path: '/new', value: 1 }
    assert.throws(
      () => patched(document, first, operation),
      fails('invalid', /^operation 1 /),
      JSON.stringify(operation),
    )
  }
  assert.deepEqual(document, { a: [1], b: { c: 1 } })
  assert.deepEqual(patched(document, { op: 'test', path: '/x', value: null }), document, 'nothing is null')
})

test('what is no patch is a bad request, and too much of one is too large', () => {
  for (const body of [
    {},
    null,
    [1],
    [{ op: 'add', path: '/a' }],
    [{ op: 'spoil', path: '/a' }],
    [{ op: 'remove', path: 'a' }],
  ]) {
    assert.throws(
      () => parseJsonPatch(body),
      (error) => isStatusError(error, 'badRequest'),
    )
  }
  assert.throws(
    () => parseJsonPatch(Array(10_001).fill({ op: 'test', path: '', value: {} })),
    fails('requestEntityTooLarge', /10000/),
  )
  const double = { op: 'copy', from: '/a', path: '/a/-' }
  assert.throws(
    () => patched({ a: ['x'.repeat(100)] }, ...Array<object>(60).fill(double)),
    fails('requestEntityTooLarge', /copies/),
  )
})

test('keys like __proto__ are keys', () => {
  const result = patched(JSON.parse('{"a":{}}'), { op: 'add', path: '/a/__proto__', value: { x: 1 } })
  assert.equal(JSON.stringify(result), '{"a":{"__proto__":{"x":1}}}')
  assert.equal(({} as Record<string, unknown>)['x'], undefined)
})

test('any value can be put at any place of any document, is found there, and taken out again', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), fc.jsonValue(), (document, key, value) => {
      const holder = { document, list: [1, 2] }
      const path = `/document2/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
      const start = { op: 'add', path: '/document2', value: {} }
      const result = patched(
        holder,
        start,
        { op: 'add', path, value },
        { op: 'test', path, value },
        { op: 'remove', path },
      )
      assert.deepEqual(JSON.parse(JSON.stringify(result)), JSON.parse(JSON.stringify({ ...holder, document2: {} })))
    }),
  )
})

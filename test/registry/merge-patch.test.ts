import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { mergePatch } from '../../src/registry/merge-patch.ts'

test('the examples of RFC 7386', () => {
  const examples: [unknown, unknown, unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ]
  for (const [target, patch, expected] of examples) assert.deepEqual(mergePatch(target, patch, false), expected)
})

test('directives of a strategic merge patch', () => {
  assert.deepEqual(mergePatch({ a: { x: 1, y: 2 } }, { a: { $patch: 'replace', z: 3 } }, true), { a: { z: 3 } })
  assert.deepEqual(mergePatch({ a: { x: 1 }, b: 1 }, { a: { $patch: 'delete' } }, true), { b: 1 })
  assert.deepEqual(mergePatch({ a: [1] }, { '$setElementOrder/a': [2, 1], a: [2] }, true), { a: [2] })
  assert.deepEqual(mergePatch({}, { $patch: 'x' }, false), { $patch: 'x' }, 'a merge patch knows none')
})

test('a key like __proto__ is a key like any other', () => {
  const merged = mergePatch({}, JSON.parse('{"a":{"__proto__":{"polluted":"1"}}}'), false)
  assert.equal(JSON.stringify(merged), '{"a":{"__proto__":{"polluted":"1"}}}')
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
})

test('neither argument is changed, and a patch made twice is as good as once', () => {
  const json = fc.jsonValue({ maxDepth: 3 })
  fc.assert(
    fc.property(json, json, (target, patch) => {
      const before = JSON.stringify([target, patch])
      const once = mergePatch(target, patch, false)
      assert.equal(JSON.stringify([target, patch]), before)
      assert.equal(JSON.stringify(mergePatch(once, patch, false)), JSON.stringify(once))
    }),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/kube/columns/column.ts'
import { valueSortKey } from '../../src/query/sort-keys.ts'

const WIDGET = { group: 'example.com', kind: 'Widget' }

/** Below `.spec.deep`. */
function inLists(value: unknown, lists: number): JsonObject {
  let deep = value
  for (let i = 0; i < lists; i++) deep = [deep]
  return { spec: { deep } }
}

test('a value sorts from as deep as documents are made of, and what lies deeper is missing', () => {
  const keyOf = (object: JsonObject) => valueSortKey('.spec.deep', object, WIDGET)
  assert.equal(keyOf(inLists(1, 1)), keyOf(inLists(1, 0)))
  assert.equal(keyOf(inLists(1, 63)), keyOf(inLists(1, 0)))
  assert.equal(keyOf(inLists(1, 64)), null)
  assert.equal(keyOf(inLists(1, 10_000)), null)
})

import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { labelValue } from '../../src/cache/label-text.ts'

function value(json: string, key: string): string | undefined {
  const bytes = Buffer.from(`##${json}"x":"outside"}`)
  return labelValue(bytes, 2, 2 + Buffer.byteLength(json), key)
}

test('finds a label in the text as a member wrote it', () => {
  assert.equal(value('{"app":"web","tier":"front"}', 'tier'), 'front')
  assert.equal(value('{"app":"web"}', 'ap'), undefined)
  assert.equal(value('{"app":""}', 'app'), '')
  assert.equal(value('{}', 'x'), undefined)
  assert.equal(value('', 'x'), undefined)
  assert.equal(value('{"app":"web"}', 'x'), undefined)
})

test('texts with blanks, escapes, nulls, equal keys or names of Object are read as JSON reads them', () => {
  assert.equal(value('{ "app" : "web" }', 'app'), 'web')
  assert.equal(value('{"app":"w\\u0065b","x":"y"}', 'app'), 'web')
  assert.equal(value('{"\\u0061pp":"web"}', 'app'), 'web')
  assert.equal(value('{"app":null}', 'app'), '')
  assert.equal(value('{"app":"a","app":"b"}', 'app'), 'b')
  assert.equal(value('{"__proto__":"p"}', '__proto__'), 'p')
  assert.equal(value('{"app":"web"}', 'constructor'), undefined)
})

test('agrees with JSON.parse on any labels', () => {
  const text = fc.oneof(fc.constantFrom('app', 'tier', 'k/x', 'a"b', 'é'), fc.string({ maxLength: 8, unit: 'binary' }))
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 6 }), text, (pairs, asked) => {
      const json = JSON.stringify(Object.fromEntries(pairs))
      const labels = JSON.parse(json) as Record<string, string>
      const ascii = asked.replace(/[^ -~]/g, '')
      for (const key of ['app', 'tier', 'k/x', ascii]) {
        assert.equal(value(json, key), Object.hasOwn(labels, key) ? labels[key] : undefined)
      }
    }),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseBool, parseListOptions } from '../../src/http/list-options.ts'
import type { StatusError } from '../../src/kube/status-error.ts'

const list = (query: string) => parseListOptions(new URLSearchParams(query), 'list')
const watch = (query: string) => parseListOptions(new URLSearchParams(query), 'watch')

/** Fields of the causes that the query is refused with. */
function faults(parse: () => unknown): string[] {
  try {
    parse()
  } catch (error) {
    const { code, details } = error as StatusError
    assert.equal(code, 'invalid')
    return (details?.causes ?? []).map(({ field, reason }) => `${field} ${reason}`)
  }
  return assert.fail('not refused')
}

test('booleans as Kubernetes reads them: anything but false and 0', () => {
  for (const text of ['', '1', 'true', 'yes', 'TRUE']) assert.equal(parseBool(text), true, text)
  for (const text of ['0', 'false', 'False']) assert.equal(parseBool(text), false, text)
  assert.equal(parseBool(null), undefined)
})

test('limits: none, zero and below mean no limit; what is no number is 400', () => {
  assert.equal(list('').limit, undefined)
  assert.equal(list('limit=').limit, undefined)
  assert.equal(list('limit=0').limit, undefined)
  assert.equal(list('limit=-5').limit, undefined)
  assert.equal(list('limit=500').limit, 500)
  for (const text of ['abc', '1.5', '1e3', '99999999999999999999', ' 1']) {
    assert.throws(() => list(`limit=${encodeURIComponent(text)}`), { code: 'badRequest' }, text)
    assert.throws(() => watch(`timeoutSeconds=${encodeURIComponent(text)}`), { code: 'badRequest' }, text)
  }
})

test('a watch without a version begins with the present objects', () => {
  for (const query of ['', 'resourceVersion=', 'resourceVersion=0']) {
    assert.equal(watch(query).sendInitialEvents, true)
    assert.equal(watch(query).resourceVersionMatch, 'NotOlderThan')
  }
  assert.equal(watch('resourceVersion=e30').sendInitialEvents, undefined)
  assert.equal(list('').sendInitialEvents, undefined)
})

test('every fault of the version options is told, with its field', () => {
  assert.deepEqual(
    faults(() => watch('sendInitialEvents=true')),
    ['resourceVersionMatch FieldValueForbidden'],
  )
  assert.deepEqual(
    faults(() => watch('resourceVersion=e30&resourceVersionMatch=NotOlderThan')),
    ['resourceVersionMatch FieldValueForbidden'],
  )
  assert.deepEqual(
    faults(() => watch('sendInitialEvents=false&resourceVersionMatch=Exact')),
    ['resourceVersionMatch FieldValueForbidden', 'resourceVersionMatch FieldValueNotSupported'],
  )
  assert.deepEqual(
    faults(() => list('sendInitialEvents=true')),
    ['sendInitialEvents FieldValueForbidden'],
  )
  assert.deepEqual(
    faults(() => list('resourceVersionMatch=Exact&resourceVersion=0')),
    ['resourceVersionMatch FieldValueForbidden'],
  )
  assert.deepEqual(
    faults(() => list('resourceVersionMatch=Foo&continue=x')),
    [
      'resourceVersionMatch FieldValueForbidden',
      'resourceVersionMatch FieldValueForbidden',
      'resourceVersionMatch FieldValueNotSupported',
    ],
  )
  list('resourceVersionMatch=Exact&resourceVersion=e30')
  watch('sendInitialEvents=true&resourceVersionMatch=NotOlderThan')
})

test('broken selectors are 400', () => {
  assert.throws(() => list('labelSelector=%3D%3D'), { code: 'badRequest' })
  assert.throws(() => list('fieldSelector=a'), { code: 'badRequest' })
})

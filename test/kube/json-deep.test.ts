import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { canonicalize } from '../../src/kube/canonical-object.ts'
import { goJson, parseDeep } from '../../src/kube/json-deep.ts'
import { parseExact } from '../../src/kube/json-exact.ts'
import { parseJsonPath } from '../../src/kube/json-path.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { redactionOf, Redactor } from '../../src/kube/redaction.ts'

/** As deep as members let objects be. */
const LEVELS = 9_900
const deepObject = (inner: string): string => '{"a":'.repeat(LEVELS) + inner + '}'.repeat(LEVELS)
const deepList = (inner: string): string => '['.repeat(LEVELS) + inner + ']'.repeat(LEVELS)

describe('JSON that is deeper than there is stack for', () => {
  it('is parsed exactly', () => {
    let value = parseExact(Buffer.from(`{"n":9007199254740993,"x":${deepObject('9007199254740995')}}`)) as any // eslint-disable-line @typescript-eslint/no-explicit-any
    assert.equal(value.n, 9007199254740993n)
    value = value.x
    for (let i = 0; i < LEVELS; i++) value = value.a
    assert.equal(value, 9007199254740995n)
    assert.throws(() => parseExact(Buffer.from(`{"n":9007199254740993,"x":${deepList('')}`)), SyntaxError)
  })

  it('is written as Go does', () => {
    for (const text of [deepObject('"x"'), deepList('1')]) assert.equal(goJson(JSON.parse(text)), text)
  })

  it('is redacted, and nothing of it is kept where a mask has no stack', () => {
    const rules = 'Database.db.example.io: spec.secret, spec.users.token'
    const redactor = new Redactor(redactionOf([rules], { group: 'db.example.io', kind: 'Database' }))
    const identity = { apiVersion: 'db.example.io/v1', kind: 'Database', cluster: 'm1' as ClusterName }
    const text = `{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"secret":${deepObject('"s3cret"')},"users":${deepList('{"token":"s3cret"}')},"n":9007199254740993}}`
    const shown = redactor.redact(canonicalize(Buffer.from(text), identity).bytes).toString('utf8')
    assert.doesNotMatch(shown, /s3cret/)
    assert.match(shown, /"n":9007199254740993/)
    assert.match(shown, /\{"token":"redacted"\}/)
  })

  it('is looked through by a JSONPath that descends', () => {
    assert.deepEqual(parseJsonPath('..z').find(JSON.parse(deepObject('{"z":1}'))), [1])
  })
})

describe('JSON token by token', () => {
  it('is what JSON.parse makes of it', () => {
    const property = fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(undefined, 1, 2), (json, indent) => {
      const text = JSON.stringify(JSON.parse(json), undefined, indent)
      assert.deepEqual(parseDeep(text, Number), JSON.parse(text))
    })
    fc.assert(property, { numRuns: 300 })
    const odd = String.raw` {"__proto__":{"a":1},"a\"b\\":[-1.5e+3,"\\",{}, [] ,null,true],"":false,"a":1,"a":2} `
    assert.deepEqual(parseDeep(odd, Number), JSON.parse(odd))
    assert.deepEqual(Object.keys(parseDeep(odd, Number) as object), Object.keys(JSON.parse(odd) as object))
  })

  it('takes objects of many keys', () => {
    const many = `{${Array.from({ length: 200_000 }, (_, i) => `"k${String(i).padStart(6, '0')}":1`).join(',')}}`
    assert.equal(goJson(parseDeep(many, Number)), many)
  })
})

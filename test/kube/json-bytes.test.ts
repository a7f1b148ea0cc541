import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { MAX_DEPTH, skipSpace, skipValue, stringText } from '../../src/kube/json-bytes.ts'
import { MalformedObjectError } from '../../src/kube/malformed-error.ts'
import { jsonText, nearJson, textLiteral } from './json-arbitrary.ts'

/** Whether the bytes are one JSON value with blanks around it. */
function accepts(bytes: Buffer): boolean {
  try {
    return skipSpace(bytes, skipValue(bytes, skipSpace(bytes, 0))) === bytes.length
  } catch (error) {
    assert.ok(error instanceof MalformedObjectError, String(error))
    return false
  }
}

function parses(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString('utf8'))
    return true
  } catch {
    return false
  }
}

function codeOf(text: string): string {
  try {
    skipValue(Buffer.from(text), 0)
    return 'none'
  } catch (error) {
    assert.ok(error instanceof MalformedObjectError)
    return error.code
  }
}

describe('JSON on bytes', () => {
  test('accepts what JSON.parse accepts', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        assert.equal(parses(Buffer.from(text)), true)
        assert.equal(accepts(Buffer.from(text)), true)
      }),
      { numRuns: 500 },
    )
  })

  test('refuses what JSON.parse refuses, one byte off', () => {
    fc.assert(
      fc.property(nearJson, (bytes) => {
        assert.equal(accepts(bytes), parses(bytes))
      }),
      { numRuns: 3_000 },
    )
  })

  for (const text of [
    '',
    ' ',
    '01',
    '-',
    '1.',
    '.5',
    '1e',
    '+1',
    'nul',
    'truefalse',
    '"a',
    '"\\x"',
    '"\\u00g0"',
    '"\t"',
  ]) {
    test(`refuses ${JSON.stringify(text)}`, () => {
      assert.equal(accepts(Buffer.from(text)), false)
    })
  }
  for (const text of ['{"a":1,}', '{,}', '[1,]', '[,]', '{"a"}', '{a:1}', '[1}', '{"a":1]', '{} {}', "{'a':1}"]) {
    test(`refuses ${text}`, () => {
      assert.equal(accepts(Buffer.from(text)), false)
    })
  }

  test('decodes strings as JSON.parse does, escapes, surrogates and all', () => {
    fc.assert(
      fc.property(textLiteral, (text) => {
        const bytes = Buffer.from(text)
        assert.equal(stringText(bytes, 1, bytes.length - 1), JSON.parse(text))
      }),
    )
    const lone = Buffer.from('"\\ud800"')
    assert.equal(stringText(lone, 1, lone.length - 1), '\ud800')
  })

  test('tells what is cut off from what is wrong', () => {
    assert.equal(codeOf('{"a":'), 'truncated')
    assert.equal(codeOf('{"a":"b'), 'truncated')
    assert.equal(codeOf('{"a":"\\u00'), 'truncated')
    assert.equal(codeOf('{"a":tru'), 'truncated')
    assert.equal(codeOf('[1,2'), 'truncated')
    assert.equal(codeOf('{"a":x'), 'syntax')
    assert.equal(codeOf('{"a":tru }'), 'syntax')
  })

  test('nests as deep as Go does, without recursion, and no deeper', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    assert.equal(codeOf(nested(MAX_DEPTH)), 'none')
    assert.equal(codeOf(nested(MAX_DEPTH + 1)), 'shape')
    assert.equal(codeOf('{"a":'.repeat(1_000_000)), 'shape')
  })

  test('walks over a huge string', () => {
    const bytes = Buffer.from(JSON.stringify('漢\\"x'.repeat(1_000_000)))
    assert.equal(skipValue(bytes, 0), bytes.length)
  })
})

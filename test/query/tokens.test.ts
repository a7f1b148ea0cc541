import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { globMatcher } from '../../src/query/glob.ts'
import { pieces } from '../../src/query/pieces.ts'
import { cutUtf8, exactValue, MAX_VALUE_BYTES, words } from '../../src/query/tokens.ts'

test('words split at every separator and fold case', () => {
  assert.deepEqual(words('Web-frontend_v1.2/x:y'), ['web', 'frontend', 'v1', '2', 'x', 'y'])
  assert.deepEqual(words('dial tcp [2001:db8::1]:443, (refused)'), [
    'dial',
    'tcp',
    '2001',
    'db8',
    '1',
    '443',
    'refused',
  ])
  assert.deepEqual(words('Größe 漢字 🚀…“x”'), ['größe', '漢字', '🚀', 'x'])
  assert.deepEqual(words('\ud800 --'), ['\ufffd'])
  assert.deepEqual(words(' \\*[]'), [])
})

test('pieces are the value and what stands between its separators, at each level', () => {
  const expected = [
    'docker.io/library/nginx:1.25',
    'docker.io',
    'library',
    'nginx:1.25',
    'nginx',
    '1.25',
    'docker',
    'io',
    '1',
    '25',
  ]
  assert.deepEqual([...pieces('docker.io/library/Nginx:1.25')].sort(), [...expected].sort())
  assert.deepEqual([...pieces('kube-system')], ['kube-system', 'kube', 'system'])
  assert.deepEqual([...pieces('Running')], ['running'])
  assert.deepEqual([...pieces('')], [''])
  assert.deepEqual([...pieces('x-y'.repeat(100))], ['x-y'.repeat(100)])
})

test('pieces of ASCII are those of the rule for all characters', () => {
  const characters = Array.from({ length: 127 - 32 }, (_, i) => String.fromCharCode(32 + i))
  const likely = fc.constantFrom('a', 'B', '1', '-', '.', '_', '/', ':', '=', ' ', ',')
  const text = fc.array(fc.oneof(likely, fc.constantFrom(...characters)), { maxLength: 40 })
  fc.assert(
    fc.property(text, (drawn) => {
      const value = drawn.join('')
      const whole = value.toLowerCase()
      const segments = whole.split(/[/\s]+/)
      const parts = whole.split(/[^a-z0-9._-]+/)
      const expected = new Set([whole, ...segments, ...parts, ...words(value)])
      if (whole !== '') expected.delete('')
      assert.deepEqual([...pieces(value)].sort(), [...expected].sort())
      // What is beyond ASCII goes another way.
      const beyond = [...pieces(`${value} é`)].filter((piece) => !piece.endsWith('é'))
      assert.deepEqual(new Set([whole, ...beyond]), new Set([whole, ...pieces(value)]))
    }),
    { numRuns: 3_000 },
  )
})

test('exact values keep their case, lose control characters and are cut at whole characters', () => {
  assert.equal(exactValue('A b\tc\n\u0000'), 'A b c  ')
  assert.equal(exactValue('a\ud800b'), 'a\ufffdb')
  const long = exactValue('漢'.repeat(5_000))
  assert.equal(Buffer.byteLength(long) <= MAX_VALUE_BYTES, true)
  assert.equal(long, '漢'.repeat(2_730))
  assert.equal(cutUtf8('a🚀', 4), 'a')
})

test('patterns match as regular expressions would, and none hangs', { timeout: 30_000 }, () => {
  const part = fc.constantFrom('a', 'b', '-', '*', '?', '🚀', '.')
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 8 }),
      fc.array(fc.constantFrom('a', 'b', '-', '🚀', '.'), { maxLength: 10 }),
      (pattern, text) => {
        const source = pattern.map((c) => (c === '*' ? '.*' : c === '?' ? '.' : c === '.' ? '\\.' : c)).join('')
        const expected = new RegExp(`^${source}$`, 'su').test(text.join(''))
        assert.equal(globMatcher(pattern.join(''))(text.join('')), expected)
      },
    ),
    { numRuns: 3_000 },
  )
  assert.equal(globMatcher('*a'.repeat(50) + '*b')('a'.repeat(8_000)), false)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { luceneRegex } from '../../src/query/regex-lucene.ts'
import { regexMatcher } from '../../src/query/regex-matcher.ts'
import { parseRegex, type Regex } from '../../src/query/regex.ts'

function parsed(pattern: string): Regex {
  const regex = parseRegex(pattern)
  if ('fault' in regex) assert.fail(`${pattern}: ${regex.fault} at ${regex.at}`)
  return regex
}

const atom = fc.constantFrom(
  'a',
  'b',
  'é',
  '🚀',
  '.',
  '[ab]',
  '[^a]',
  '[a-c🚀]',
  '\\d',
  '\\W',
  '\\.',
  'A',
  '[B-D]',
  '-',
)
const expression = fc.letrec<{ any: string; part: string }>((tie) => ({
  any: fc.array(tie('part'), { maxLength: 3 }).map((parts) => parts.join('')),
  part: fc.oneof(
    { maxDepth: 3 },
    atom,
    fc.tuple(atom, fc.constantFrom('*', '+', '?', '{2}', '{1,}', '{0,2}', '*?')).map((parts) => parts.join('')),
    fc.tuple(tie('any'), tie('any')).map(([a, b]) => `(${a}|${b})`),
    fc.tuple(tie('any'), fc.constantFrom('*', '+', '?', '{1,3}')).map(([inner, times]) => `(?:${inner})${times}`),
  ),
})).any
const text = fc.array(fc.constantFrom('a', 'b', 'c', 'A', 'é', '🚀', '.', '7', '-'), { maxLength: 8 })
const start = fc.constantFrom('', '^')
const end = fc.constantFrom('', '$')

test('matches what JavaScript’s own expressions match', () => {
  fc.assert(
    fc.property(start, expression, end, text, fc.boolean(), (from, inner, to, characters, ignoreCase) => {
      const pattern = `${from}(?:${inner})${to}`
      const value = characters.join('')
      // (?i) is about ASCII letters; `é` has another case to JavaScript.
      // From the beginning, since V8 does not find 🚀 by /[^a]$/u.
      const whole = from === '' ? `^[^]*?(?:${inner})${to}` : pattern
      const expected = new RegExp(whole, ignoreCase ? 'iu' : 'u').test(value)
      const matches = regexMatcher(parsed((ignoreCase ? '(?i)' : '') + pattern))
      assert.equal(matches(value), expected, `${pattern} on ${value}`)
      assert.equal(matches(value), expected, 'again, from what it remembers')
    }),
    { numRuns: 3_000 },
  )
})

test('what is outside the subset is a fault with its position', () => {
  const faults: [string, number, RegExp][] = [
    ['a(?=b)', 1, /look-around/],
    ['(?<n>a)', 0, /look-around/],
    ['(a)\\1', 3, /"\\1" is not supported/],
    ['\\bweb', 0, /"\\b" is not supported/],
    ['a^b', 1, /only at the beginning/],
    ['a$b', 1, /only at the end/],
    ['(a', 0, /nothing closes this bracket/],
    ['a)', 1, /nothing opens/],
    ['[a', 0, /nothing closes this class/],
    ['[[:alpha:]]', 1, /named classes/],
    ['[z-a]', 1, /no range/],
    ['*a', 0, /nothing stands before/],
    ['a**', 1, /needs brackets/],
    ['a{2', 1, /\{n\}/],
    ['a{3,2}', 1, /\{n,m\}/],
    ['a{101}', 1, /more than 100/],
    ['(a{100}){100}', 0, /too large/],
    ['\\', 0, /behind the backslash/],
    ['x'.repeat(257), 256, /longer than 256/],
    [`${'('.repeat(40)}a${')'.repeat(40)}`, 21, /nested deeper/],
  ]
  for (const [pattern, at, message] of faults) {
    const result = parseRegex(pattern)
    assert.ok('fault' in result, pattern)
    assert.match(result.fault, message, pattern)
    assert.equal(result.at, at, pattern)
  }
})

test('time grows with the text alone, whatever the expression', () => {
  for (const pattern of ['(a*)*b', '(a|a)*b', '(a|aa)+$', '(.*)*(.*)*x', 'a?a?a?a?a?a?a?a?a?aaaaaaaaa$']) {
    const matches = regexMatcher(parsed(pattern))
    assert.equal(typeof matches('a'.repeat(8_000)), 'boolean') // backtracking would not come back
  }
  const matches = regexMatcher(parsed('(a|b)*a(a|b){12}c')) // 8,192 sets of places
  const random = Array.from({ length: 8_000 }, (_, i) => ((i * 7919) % 13 < 6 ? 'a' : 'b')).join('')
  assert.equal(matches(random), false)
})

test('reads for Lucene as it reads here', () => {
  const printed: [string, string][] = [
    ['^web-[0-9]+$', 'p\u001f\\=web\\-[0-9]+'],
    ['a|b.c', 'p\u001f\\=.*(a|b.c).*'],
    ['^(?:ab){2,}[^a]?', 'p\u001f\\=(ab){2,}[\u0000-\\`b-\u{10ffff}]?.*'],
    ['(?i)a', 'p\u001f\\=.*[Aa].*'],
    ['^$', 'p\u001f\\=()'],
  ]
  for (const [pattern, lucene] of printed) assert.equal(luceneRegex(parsed(pattern), 'p\u001f='), lucene, pattern)
})

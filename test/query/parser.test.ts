import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { QueryNode } from '../../src/query/ast.ts'
import { MAX_QUERY_TERMS, parseQuery } from '../../src/query/parser.ts'

const FIELDS = new Set(['kind', 'ns', 'status', 'restarts', 'name', 'label.app', 'label.app.kubernetes.io/name'])
const parse = (text: string): QueryNode => parseQuery(text, (name) => FIELDS.has(name))

/** `'…'` is quoted text, `field op [values]`, `!` not. */
function shown(node: QueryNode): string {
  switch (node.type) {
    case 'text':
      return node.value.quoted ? `'${node.value.text}'` : node.value.text
    case 'field':
      return `${node.field}${node.operator}[${node.values.map(({ text }) => text).join('|')}]`
    case 'not':
      return `!${shown(node.child)}`
    case 'and':
    case 'or':
      return `${node.type}(${node.children.map(shown).join(' ')})`
  }
}

test('what reads as syntax is syntax', () => {
  const expected: [string, string][] = [
    ['', 'and()'],
    ['a b', 'and(a b)'],
    ['a AND b OR c d', 'or(and(a b) and(c d))'],
    ['a (b OR NOT c)', 'and(a or(b !c))'],
    ['-a -(b c) --d', 'and(!a !and(b c) --d)'],
    ['NOT NOT a', '!!a'],
    ['kind:Pod restarts>=3 status!=Running', 'and(kind:[Pod] restarts>=[3] status!=[Running])'],
    ['status:(x,"y z", w) kind:(A OR B)', 'and(status:[x|y z|w] kind:[A|B])'],
    ['label.app= label.app.kubernetes.io/name:x', 'and(label.app=[] label.app.kubernetes.io/name:[x])'],
    ['name:"a \\" b\\\\" "c d"', `and(name:[a " b\\] 'c d')`],
    ['name~^(a|b)-[0-9]+$ (name~a|b)', 'and(name~[^(a|b)-[0-9]+$] name~[a|b])'],
    ['name~"a b"', 'name~[a b]'],
    ['(kind:Pod OR kind:Node)', 'or(kind:[Pod] kind:[Node])'],
    ['name:f(x) (name:f(x))', 'and(name:[f(x)] name:[f(x)])'],
    ['-name:test*', '!name:[test*]'],
  ]
  for (const [text, tree] of expected) assert.equal(shown(parse(text)), tree, text)
})

test('I1: what does not is literal', () => {
  const literals = [
    'AND',
    'OR',
    'NOT',
    '"unbalanced',
    '*',
    '\\',
    'ns/pod-1',
    'foo[0]',
    '(((a',
    ')',
    'a)',
    '-',
    'kind:',
    '--flag=x',
  ]
  for (const text of [
    ...literals,
    'http://x:80/y',
    'registry:5000/img@sha256:ab',
    '10.0.0.1:80',
    'nofield>3',
    '🚀',
    '2001:db8::1',
  ]) {
    assert.equal(shown(parse(text)), text)
  }
  assert.equal(shown(parse('a AND')), 'and(a AND)')
  assert.equal(shown(parse('kind: Pod')), 'and(kind: Pod)')
  assert.equal(shown(parse('( ( b')), 'and(( ( b)')
  assert.equal(shown(parse('status:(a b')), 'and(status:[(a] b)')
})

test('what looks like syntax and is none says so, with its position', () => {
  const hints = (node: QueryNode): string[] => {
    if (node.type === 'and' || node.type === 'or') return node.children.flatMap(hints)
    if (node.type === 'not') return hints(node.child)
    return node.hint === undefined ? [] : [node.hint]
  }
  const expected: [string, RegExp][] = [
    ['(a or b)', /^"or" at position 3 was searched for as a word; the operator is OR$/],
    ['a and b', /"and" at position 2 .* AND$/],
    ['not a', /"not" at position 0 .* NOT$/],
    ['a OR', /^"OR" at position 2 joins nothing/],
    ['OR a', /"OR" at position 0 joins nothing/],
    ['(a OR )', /"OR" at position 3 joins nothing/],
    ['ns:', /^"ns:" at position 0 has no value: .*ns:\* finds/],
    ['kind: Pod', /"kind:" at position 0 has no value/],
    ['x name~', /"name~" at position 2 has no value/],
    ['a "b c', /nothing closes the quote at position 2/],
    ['((a b', /nothing closes the bracket at position 0/],
    ['a b)', /nothing opens the bracket at position 3/],
    ['status:(a b', /nothing closes the bracket at position 7/],
    ['name:"a', /nothing closes the quote at position 5/],
  ]
  for (const [text, hint] of expected) assert.match(hints(parse(text)).join('\n'), hint, text)
  for (const text of [
    'a OR b',
    '(a OR b)',
    'name:f(x)',
    '(name:f(x))',
    'foo[0]',
    '"or"',
    'a(b)',
    'ns:x',
    'label.app=',
  ]) {
    assert.deepEqual(hints(parse(text)), [], text)
  }
})

test('limits are told with their position', () => {
  assert.throws(() => parse('x '.repeat(MAX_QUERY_TERMS + 1)), /position 512: more than 256 terms/)
  assert.throws(() => parse(`status:(${'x,'.repeat(300)}x)`), /more than 256 terms/)
  assert.throws(() => parse('-('.repeat(40) + 'a' + ')'.repeat(40)), /nested deeper than 32/)
  assert.throws(() => parse('x'.repeat(12_001)), /longer than 12000 characters/)
})

test('any text parses, or is refused as a bad request; none hangs', { timeout: 30_000 }, () => {
  const piece = fc.constantFrom(
    '(',
    ')',
    '"',
    '-',
    ' ',
    'a',
    'OR',
    'AND',
    'NOT ',
    'kind:',
    'kind!=',
    ',',
    '\\',
    '\n',
    '🚀',
  )
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join('')),
  )
  fc.assert(
    fc.property(text, (query) => {
      try {
        shown(parse(query))
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'badRequest')
      }
    }),
    { numRuns: 2_000 },
  )
  for (const evil of [
    '( '.repeat(30) + 'a '.repeat(200),
    '(a '.repeat(31),
    '-'.repeat(10_000),
    '"\\'.repeat(3_000),
    'status:('.repeat(1_000),
  ]) {
    try {
      parse(evil)
    } catch {
      // refused is fine
    }
  }
})

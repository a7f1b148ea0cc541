import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { JsonPathError, parseJsonPath } from '../../src/kube/json-path.ts'

const object = {
  spec: { a: { b: 1 }, list: [1, 2, 3, 4], 'x.y': 'dotted', empty: [], nothing: null },
  items: [
    { name: 'one', n: 1, ok: true },
    { name: 'two', n: 2, tag: 'a)]b' },
    { name: 'three', n: 2.5 },
  ],
}
const find = (path: string) => parseJsonPath(path).find(object)

describe('JSONPath', () => {
  it('takes a path with or without braces and root', () => {
    for (const path of ['.spec.a.b', '{.spec.a.b}', '$.spec.a.b', '{$.spec.a.b}', "['spec'].a['b']"]) {
      assert.deepEqual(find(path), [1], path)
    }
  })

  it('selects from lists', () => {
    assert.deepEqual(find('.spec.list[0]'), [1])
    assert.deepEqual(find('.spec.list[-1]'), [4])
    assert.deepEqual(find('.spec.list[1:3]'), [2, 3])
    assert.deepEqual(find('.spec.list[-2:]'), [3, 4])
    assert.deepEqual(find('.spec.list[:2]'), [1, 2])
    assert.deepEqual(find('.spec.list[0:4:2]'), [1, 3])
    assert.deepEqual(find('.spec.list[*]'), [1, 2, 3, 4])
    assert.deepEqual(find('.spec.list[3,0]'), [4, 1])
    assert.deepEqual(find('.items[*].name'), ['one', 'two', 'three'])
    assert.deepEqual(find('.spec.empty[*]'), [])
  })

  it('filters', () => {
    assert.deepEqual(find('.items[?(@.name=="two")].n'), [2])
    assert.deepEqual(find(".items[?(@.name=='two')].n"), [2])
    assert.deepEqual(find('.items[?(@.n>1)].name'), undefined, 'a whole number and a fraction do not compare')
    assert.deepEqual(find('.items[?(@.ok)].name'), ['one'])
    assert.deepEqual(find('.items[?(@.ok==true)].name'), ['one'])
    assert.deepEqual(find('.items[?(@.tag=="a)]b")].name'), ['two'])
    assert.deepEqual(find('.items[?(@.missing=="x")].name'), [])
  })

  it('descends', () => {
    assert.deepEqual(find('..b'), [1])
    assert.deepEqual(find('..name'), ['one', 'two', 'three'])
  })

  it('finds nothing where keys are missing, and says where the path does not fit', () => {
    assert.deepEqual(find('.spec.missing.deeper'), [])
    assert.deepEqual(find('.spec.nothing.deeper'), [])
    assert.deepEqual(find('.spec.nothing'), [null])
    assert.deepEqual(find('.spec.constructor'), [])
    assert.deepEqual(find('.spec.__proto__'), [])
    assert.equal(find('.spec.list[9]'), undefined)
    assert.equal(find('.spec.a[0]'), undefined)
    assert.equal(find('.spec.a[?(@.b==1)]'), undefined)
  })

  it('takes escaped and quoted keys', () => {
    assert.deepEqual(find(String.raw`.spec.x\.y`), ['dotted'])
    assert.deepEqual(find(String.raw`.spec['x\.y']`), ['dotted'])
  })

  it('I3: refuses what cannot be read, with the position', () => {
    for (const path of [
      '{.spec.a.b',
      '.spec.a.b}',
      '.a[',
      '.a[x]',
      '.a[?(@.b)',
      '.a[1:2:0]',
      '....a',
      '{range .a}',
      '#',
      '.a[?(@.b=!1)]',
    ]) {
      assert.throws(() => parseJsonPath(path), JsonPathError, path)
    }
    try {
      parseJsonPath('.spec.list[x]')
      assert.fail('taken')
    } catch (error) {
      assert.ok(error instanceof JsonPathError)
      assert.equal(error.position, 10)
    }
  })

  it('reads or refuses any text, and never throws anything else', () => {
    const pieces = fc.constantFrom(
      '.',
      '..',
      'a',
      'spec',
      '[',
      ']',
      '*',
      '0',
      '-1',
      ':',
      ',',
      '?(',
      '@',
      ')',
      '==',
      '"',
      "'",
      '\\',
      '{',
      '}',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        try {
          parseJsonPath(parts.join('')).find(object)
        } catch (error) {
          assert.ok(error instanceof JsonPathError, parts.join(''))
        }
      }),
      { numRuns: 5_000 },
    )
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EVERYTHING, NOTHING, ObjectScopeBuilder, type ObjectScope } from '../../src/kube/object-scope.ts'

type Grant = readonly [namespace: string, ...names: string[]]

function scopeOf(...grants: readonly Grant[]): ObjectScope {
  const builder = new ObjectScopeBuilder()
  for (const [namespace, ...names] of grants) builder.grant(namespace, names)
  return builder.build()
}

const NAMESPACES = ['', 'a', 'b']
const NAMES = ['', 'x', 'y']
const grants: fc.Arbitrary<Grant[]> = fc.array(
  fc
    .tuple(fc.constantFrom(...NAMESPACES), fc.array(fc.constantFrom(...NAMES), { maxLength: 2 }))
    .map(([namespace, names]): Grant => [namespace, ...names]),
  { maxLength: 6 },
)

test('a request is allowed where one grant allows it', () => {
  fc.assert(
    fc.property(grants, (list) => {
      const scope = scopeOf(...list)
      for (const namespace of NAMESPACES) {
        for (const name of NAMES) {
          const expected = list.some(
            ([ns, ...names]) => (ns === '' || ns === namespace) && (names.length === 0 || names.includes(name)),
          )
          assert.equal(scope.allows(namespace, name), expected, JSON.stringify([namespace, name]))
        }
      }
    }),
  )
})

test('what is shown is what some list that is allowed would show', () => {
  fc.assert(
    fc.property(grants, (list) => {
      const scope = scopeOf(...list)
      const { shown } = scope
      for (const namespace of NAMESPACES) {
        for (const name of ['x', 'y']) {
          const listed =
            scope.allows('', '') ||
            scope.allows('', name) ||
            scope.allows(namespace, '') ||
            scope.allows(namespace, name)
          assert.equal(shown.allows(namespace, name), listed, JSON.stringify([namespace, name]))
          if (listed) {
            assert.ok(shown.reaches(namespace, name))
            assert.ok(shown.reaches('', ''))
          }
        }
      }
    }),
  )
})

test('grants in namespaces do not reach objects that have none', () => {
  const scope = scopeOf(['a'], ['b', 'x'], ['', 'y'])
  assert.equal(scope.reaches('', 'x'), true)
  assert.equal(scope.withoutNamespaces.reaches('', 'x'), false)
  assert.equal(scope.withoutNamespaces.allows('', 'y'), true)
  assert.equal(scopeOf(['a']).withoutNamespaces.nothing, true)
  assert.equal(EVERYTHING.withoutNamespaces.everything, true)
})

test('nothing is nothing, and wider grants swallow narrower ones', () => {
  assert.equal(scopeOf(), NOTHING)
  assert.equal(scopeOf(['a', 'x'], ['']), EVERYTHING)
  assert.equal(scopeOf(['a', 'x'], ['a']).size, 1)
  assert.equal(NOTHING.reaches('', ''), false)
})

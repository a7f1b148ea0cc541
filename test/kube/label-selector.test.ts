import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { LabelSelector } from '../../src/kube/label-selector.ts'
import { labelSelectorFrom, parseLabelSelector } from '../../src/kube/label-selector.ts'
import { isStatusError } from '../../src/kube/status-error.ts'
import { lookup, titleOf, vectorsOf } from './apimachinery.ts'

const matches = (selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean =>
  selector.matches((key) => lookup(labels, key))

const refusal = (message: string | RegExp) => (error: unknown) =>
  isStatusError(error, 'badRequest') &&
  (typeof message === 'string' ? error.message === message : message.test(error.message))

describe('parseLabelSelector says what Kubernetes says', () => {
  for (const { text, objects, error, matches: expected } of vectorsOf('label')) {
    if (error !== '') {
      test(`refuses ${titleOf(text)}`, () => {
        assert.throws(() => parseLabelSelector(text), refusal(error))
      })
    } else {
      test(`takes ${titleOf(text)}`, () => {
        const selector = parseLabelSelector(text)
        assert.deepEqual(
          objects.map((labels) => matches(selector, labels)),
          expected,
        )
        const again = parseLabelSelector(selector.toString())
        assert.deepEqual(again.requirements, selector.requirements)
      })
    }
  }
})

describe('LabelSelector', () => {
  test('E6: absent labels: !=, notin and ! match, the others do not', () => {
    const pods = { A: { tier: 'web' }, B: { tier: 'db' }, C: {} }
    const matching = (text: string): string[] => {
      const selector = parseLabelSelector(text)
      return Object.entries(pods).flatMap(([name, labels]) => (matches(selector, labels) ? [name] : []))
    }
    assert.deepEqual(matching('tier!=web'), ['B', 'C'])
    assert.deepEqual(matching('tier notin (web,db)'), ['C'])
    assert.deepEqual(matching('!tier'), ['C'])
    assert.deepEqual(matching('tier in (web, db)'), ['A', 'B'])
    assert.deepEqual(matching('tier in (web, db),app'), [])
  })

  test('knows when it selects everything', () => {
    assert.equal(parseLabelSelector('').empty, true)
    assert.equal(parseLabelSelector(' ').empty, true)
    assert.equal(parseLabelSelector('a').empty, false)
    assert.equal(labelSelectorFrom({}).empty, true)
  })

  test('is equal in text where it is equal in meaning and order', () => {
    assert.equal(parseLabelSelector('z, y in (b,a,b) ,x==1').toString(), 'x=1,y in (a,b),z')
  })

  test('names like those of JavaScript are labels like others', () => {
    const selector = parseLabelSelector('constructor,!toString')
    assert.equal(matches(selector, {}), false)
    assert.equal(matches(selector, { constructor: 'x' }), true)
  })
})

describe('labelSelectorFrom', () => {
  test('joins labels and expressions', () => {
    const selector = labelSelectorFrom({
      matchLabels: { app: 'web' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['b', 'a'] },
        { key: 'env', operator: 'NotIn', values: ['dev'] },
        { key: 'managed', operator: 'Exists' },
        { key: 'old', operator: 'DoesNotExist', values: [] },
      ],
    })
    assert.equal(selector.toString(), 'app=web,env!=dev,managed,!old,tier in (a,b)')
  })

  test('refuses what a kube-apiserver refuses', () => {
    const from = (operator: string, values?: string[]) => () =>
      labelSelectorFrom({ matchExpressions: [{ key: 'a', operator, ...(values === undefined ? {} : { values }) }] })
    assert.throws(from('Gt', ['1']), refusal('"Gt" is not a valid label selector operator'))
    assert.throws(from('in', ['1']), refusal('"in" is not a valid label selector operator'))
    assert.throws(from('In'), refusal(/values set can't be empty/))
    assert.throws(from('Exists', ['x']), refusal(/values set must be empty for exists and does not exist/))
    assert.throws(() => labelSelectorFrom({ matchLabels: { a: 'not ok' } }), refusal(/a valid label must be/))
    assert.throws(() => labelSelectorFrom({ matchLabels: { '': 'a' } }), refusal(/name part must be non-empty/))
  })
})

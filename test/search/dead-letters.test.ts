import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeadLetters } from '../../src/backendstore/dead-letters.ts'
import { isVisible } from '../../src/search/dead-letters-handler.ts'

const refused = (name: string, more: { cluster?: string; namespace?: string; reason?: string } = {}) => ({
  ...{ cluster: 'a', group: '', version: 'v1', resource: 'pods', kind: 'Pod', namespace: 'shop', reason: '400' },
  ...more,
  name,
})

test('a letter is shown to whoever may list its object, and to nobody else', () => {
  const letters = new DeadLetters(() => 0)
  letters.add('os', refused('web'))
  const [letter] = letters.list()
  assert.ok(letter)
  const seen = (part: object, cluster = 'a'): boolean =>
    isVisible(letter, {
      clusters: new Map([[cluster, 0]]),
      parts: [[{ group: '', resource: 'pods', everything: false, namespaces: [], names: [], ...part }]],
    })
  assert.equal(isVisible(letter, undefined), true)
  assert.equal(seen({}), false)
  assert.equal(seen({ everything: true }), true)
  assert.equal(seen({ everything: true }, 'b'), false)
  assert.equal(seen({ everything: true, resource: 'secrets' }), false)
  assert.equal(seen({ namespaces: ['other'] }), false)
  assert.equal(seen({ namespaces: ['shop'] }), true)
  assert.equal(seen({ names: [{ namespace: 'other', name: 'web' }] }), false)
  assert.equal(seen({ names: [{ namespace: 'shop', name: 'web' }] }), true)
  assert.equal(seen({ names: [{ name: 'web' }] }), true)
})

test('letters are bounded, the oldest go first, and one for each object and store', () => {
  let now = 1_000
  const letters = new DeadLetters(() => now)
  assert.equal(letters.add('os', refused('web')), true)
  now = 2_000
  assert.equal(letters.add('os', refused('web')), false)
  assert.equal(letters.add('es', refused('web', { reason: 'x'.repeat(5_000) })), true)
  assert.deepEqual(
    letters.list().map(({ store, times, firstMs, lastMs, reason }) => [store, times, firstMs, lastMs, reason.length]),
    [
      ['os', 2, 1_000, 2_000, 3],
      ['es', 1, 2_000, 2_000, 300],
    ],
  )
  for (let i = 0; i < 10_000; i++) letters.add('os', refused(`p${i}`))
  assert.equal(letters.size, 10_000)
  assert.equal(letters.dropped, 2)
  letters.removeShard('os', { cluster: 'a', group: '', resource: 'pods' })
  assert.equal(letters.size, 0)
})

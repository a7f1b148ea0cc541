import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { ResourceVersion } from '../../src/kube/names.ts'
import { compareResourceVersions, objectKey } from '../../src/kube/names.ts'

const compare = (a: string, b: string): number | undefined =>
  compareResourceVersions(a as ResourceVersion, b as ResourceVersion)

describe('names', () => {
  test('an object is known by namespace and name', () => {
    assert.equal(objectKey('shop', 'web'), 'shop/web')
    assert.equal(objectKey('', 'node1'), 'node1')
  })

  test('versions are ordered as integers of any size', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 70n }), fc.bigInt({ min: 0n, max: 2n ** 70n }), (a, b) => {
        assert.equal(compare(String(a), String(b)), a < b ? -1 : a > b ? 1 : 0)
      }),
    )
    assert.equal(compare('9007199254740993', '9007199254740992'), 1)
    assert.equal(compare('10', '9'), 1)
    assert.equal(compare('007', '7'), 0)
  })

  test('versions that are no decimals are not guessed at', () => {
    assert.equal(compare('a', 'b'), undefined)
    assert.equal(compare('-1', '1'), undefined)
    assert.equal(compare('', '1'), undefined)
    assert.equal(compare('1e3', '1'), undefined)
    assert.equal(compare('a', 'a'), 0)
  })
})

import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { VersionVector } from '../../src/cache/version-vector.ts'
import { decodeVersionMap, encodeVersionMap } from '../../src/kube/multi-cluster-version.ts'
import { cluster, version } from './objects.ts'

const name = fc.constantFrom('m1', 'm10', 'm2', 'é', '\uffff', '😀').map(cluster)

test('a vector behaves as a Map that is copied for each change, in the byte order of the names', () => {
  const step = fc.tuple(name, fc.option(fc.nat(99).map(version), { nil: undefined, freq: 4 }))
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      let vector = VersionVector.EMPTY
      const model = new Map<string, string>()
      for (const [key, value] of steps) {
        const before = vector
        const copy = [...before]
        if (value === undefined) model.delete(key)
        else model.set(key, value)
        vector = value === undefined ? vector.without(key) : vector.with(key, value)
        assert.deepEqual([...before], copy, 'a vector changed')
      }
      const sorted = [...model].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      assert.deepEqual([...vector], sorted)
      assert.deepEqual(
        [...vector.keys()],
        sorted.map(([key]) => key),
      )
      assert.deepEqual(
        [...vector.values()],
        sorted.map(([, value]) => value),
      )
      assert.equal(vector.size, model.size)
      for (const key of ['m1', 'é', 'nobody'].map(cluster)) {
        assert.equal(vector.get(key), model.get(key))
        assert.equal(vector.has(key), model.has(key))
      }
      const seen: unknown[] = []
      vector.forEach((value, key) => seen.push([key, value]))
      assert.deepEqual(seen, sorted)
      assert.deepEqual([...(decodeVersionMap(encodeVersionMap(vector)) ?? [])], sorted)
      assert.ok(vector.equals(VersionVector.of(vector)))
    }),
  )
})

test('an unchanged version gives the same vector', () => {
  const vector = VersionVector.EMPTY.with(cluster('m1'), version(1))
  assert.equal(vector.with(cluster('m1'), version(1)), vector)
  assert.deepEqual([...vector.only(new Set([cluster('m2')]))], [])
})

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { nameKey } from '../../../src/backendstore/sqlite/name-key.ts'
import { remove, upsert } from '../../conformance/backend-store-suite.ts'
import { namesFound } from '../../support/search.ts'
import { newStore } from './stores.ts'

test('names that share a key are two documents', async (t) => {
  const { store, folder } = await newStore()
  t.after(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  const [one, other] = namesOfOneKey()
  await store.write([upsert(one, { labels: { of: 'one' } }), upsert(other, { labels: { of: 'other' } })])
  await store.write([upsert(one, { version: '2', labels: { of: 'new' } })])
  assert.deepEqual(await namesFound(store, 'label.of=new'), [`default/${one}`])
  assert.deepEqual(await namesFound(store, 'label.of=other'), [`default/${other}`])
  await store.write([remove(one)])
  assert.deepEqual(await namesFound(store, ''), [`default/${other}`])
})

test('keys are of 48 bits, and in the order of namespaces', () => {
  const keys = ['a', 'b', 'c'].flatMap((namespace) =>
    Array.from({ length: 50 }, (_, i) => ({ namespace, key: nameKey(namespace, `p${i}`) })),
  )
  assert.ok(keys.every(({ key }) => Number.isSafeInteger(key) && key >= 0 && key < 2 ** 48))
  const inOrder = keys.toSorted((a, b) => a.key - b.key).map(({ namespace }) => namespace)
  assert.equal(inOrder.filter((namespace, i) => namespace !== inOrder[i - 1]).length, 3)
})

function namesOfOneKey(): [string, string] {
  const byKey = new Map<number, string>()
  for (let i = 0; ; i++) {
    const name = hash('sha1', String(i)).slice(0, 12)
    const key = nameKey('default', name)
    const other = byKey.get(key)
    if (other !== undefined) return [other, name]
    byKey.set(key, name)
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { preparedChanges } from '../../../src/backendstore/sqlite/prepared-batch.ts'
import { Preparer } from '../../../src/backendstore/sqlite/preparer.ts'
import { upsert } from '../../conformance/backend-store-suite.ts'

/** Two words of one length whose sums share their last 21 bits, wherever in a text they stand last. */
function likeWords(): [string, string] {
  const bySum = new Map<number, string>()
  for (let i = 0; ; i++) {
    const word = `word${String(i).padStart(6, '0')}`
    const sum = crc32(word) & 0x1f_ffff
    const other = bySum.get(sum)
    if (other !== undefined) return [other, word]
    bySum.set(sum, word)
  }
}

test('words tell documents apart whose terms are the same, since an object has more of them than are kept', () => {
  const sizes = Array.from({ length: 40_000 }, (_, i) => i) // fills the terms, without a word
  const preparer = new Preparer([])
  const [one, other] = likeWords().map((type) => {
    const object = upsert('p', { body: { spec: { sizes }, status: { conditions: [{ type }] } } })
    const [change] = preparedChanges(preparer.prepare([object]))
    assert.ok(change !== undefined)
    return change
  })
  assert.deepEqual(one?.bytes('terms'), other?.bytes('terms'))
  assert.notDeepEqual(one?.bytes('other'), other?.bytes('other'))
  assert.notDeepEqual([one?.indexHash, one?.indexHashMore], [other?.indexHash, other?.indexHashMore])
})

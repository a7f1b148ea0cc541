import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BufferPool } from '../../src/backendstore/buffer-pool.ts'
import { GrowingText } from '../../src/backendstore/growing-text.ts'

test('memory comes again where it is large enough, and no more is kept than is of use', () => {
  const pool = new BufferPool()
  const first = pool.take(1_000)
  assert.ok(first.byteLength >= 1_000)
  pool.give(first)
  assert.equal(pool.take(900), first)
  pool.give(first)
  assert.notEqual(pool.take(first.byteLength + 1), first)
  const many = Array.from({ length: 10 }, () => new ArrayBuffer(10))
  for (const buffer of many) pool.give(buffer)
  const again = many.map(() => pool.take(10)).filter((buffer) => many.includes(buffer))
  assert.ok(again.length > 0 && again.length < many.length)
  pool.give(first)
  pool.clear()
  assert.notEqual(pool.take(10), first)
})

test('text grows beyond its memory and is taken back', () => {
  const memory = new ArrayBuffer(64)
  const text = new GrowingText(memory)
  text.add('é')
  assert.equal(text.bytes().buffer, memory)
  const kept = text.length
  text.add('x'.repeat(100))
  assert.notEqual(text.bytes().buffer, memory)
  text.cut(kept)
  text.add('漢')
  assert.equal(Buffer.from(text.bytes()).toString('utf8', 0, text.length), 'é漢')
})

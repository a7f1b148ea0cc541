import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Arena, chunkAt, lengthAt, offsetAt, type Chunks } from '../../src/cache/arena.ts'

/** Bytes that tell which record they are, and which rewriting of it. */
function content(stamp: number, length: number): Buffer {
  return Buffer.alloc(length, `${stamp}.`)
}

function fill(arena: Arena, slot: number, bytes: Buffer): void {
  const address = arena.address(slot)
  bytes.copy(chunkAt(arena.chunks, address).bytes, offsetAt(address))
}

function read(chunks: Chunks, address: number): Buffer {
  const chunk = chunkAt(chunks, address)
  const start = offsetAt(address)
  return Buffer.from(chunk.bytes.subarray(start, start + lengthAt(chunk, start)))
}

const length = fc.oneof(fc.nat(200), fc.nat(5_000), fc.integer({ min: 100_000, max: 1_300_000 }))
const steps = fc.array(
  fc.record({
    what: fc.constantFrom('insert', 'insert', 'rewrite', 'remove', 'keep'),
    length,
    pick: fc.nat(),
  }),
  { minLength: 20, maxLength: 120, size: 'max' },
)

test('records keep their bytes while others come and go, and kept addresses stay readable', () => {
  fc.assert(
    fc.property(steps, (operations) => {
      const arena = new Arena()
      const model = new Map<number, Buffer>()
      const kept: { chunks: Chunks; address: number; bytes: Buffer }[] = []
      operations.forEach(({ what, length: size, pick }, stamp) => {
        const slots = [...model.keys()]
        const slot = slots[pick % Math.max(1, slots.length)]
        if (what === 'insert' || slot === undefined) {
          const fresh = arena.insert(size)
          assert.ok(!model.has(fresh), 'a living slot was given out again')
          fill(arena, fresh, content(stamp, size))
          model.set(fresh, content(stamp, size))
        } else if (what === 'rewrite') {
          arena.rewrite(slot, size)
          fill(arena, slot, content(stamp, size))
          model.set(slot, content(stamp, size))
        } else if (what === 'remove') {
          arena.remove(slot)
          model.delete(slot)
        } else {
          for (const [each, bytes] of model) kept.push({ chunks: arena.chunks, address: arena.address(each), bytes })
        }
      })
      for (const [slot, bytes] of model) assert.ok(read(arena.chunks, arena.address(slot)).equals(bytes))
      for (const { chunks, address, bytes } of kept) assert.ok(read(chunks, address).equals(bytes))
    }),
    { numRuns: 40 },
  )
})

test('under churn the memory stays near what lives', () => {
  const arena = new Arena()
  const slots = Array.from({ length: 4_000 }, () => arena.insert(1_000))
  for (let i = 0; i < 40_000; i++) arena.rewrite(slots[(i * 7_919) % slots.length] ?? 0, 1_000)
  assert.ok(arena.capacityBytes < 1.4 * arena.liveBytes, `${arena.capacityBytes} for ${arena.liveBytes}`)
  for (const slot of slots) arena.remove(slot)
  assert.equal(arena.liveBytes, 0)
  arena.insert(2_000_000)
  assert.ok(arena.capacityBytes < 4_000_000, `${arena.capacityBytes} after all are gone`)
})

test('a small arena takes little', () => {
  const arena = new Arena()
  arena.insert(3_000)
  assert.ok(arena.capacityBytes < 5_000)
})

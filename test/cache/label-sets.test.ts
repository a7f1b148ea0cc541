import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { LabelSets } from '../../src/cache/label-sets.ts'
import { canonicalize } from '../../src/kube/canonical-object.ts'
import { parseLabelSelector } from '../../src/kube/label-selector.ts'
import { cluster, pod } from './objects.ts'

const identity = { apiVersion: 'v1', kind: 'Pod', cluster: cluster('m1') }

const key = fc.constantFrom('app', 'tier', 'a.io/x', '__proto__', 'constructor', 'k1', 'k2', 'k3')
const value = fc.constantFrom('', 'web', 'db', '1', '2', '10', 'v-7')
const labels = fc
  .array(fc.tuple(key, value), { maxLength: 5 })
  .map((pairs) => Object.fromEntries(new Map(pairs)) as Record<string, string>)
const requirement = fc.oneof(
  fc.tuple(key, value).map(([k, v]) => `${k}=${v}`),
  fc.tuple(key, value).map(([k, v]) => `${k}!=${v}`),
  fc.tuple(key, fc.array(value, { minLength: 1 })).map(([k, vs]) => `${k} in (${vs.join(',')})`),
  fc.tuple(key, fc.array(value, { minLength: 1 })).map(([k, vs]) => `${k} notin (${vs.join(',')})`),
  key,
  key.map((k) => `!${k}`),
  fc.tuple(key, fc.nat(12)).map(([k, n]) => `${k}>${n}`),
  fc.tuple(key, fc.nat(12)).map(([k, n]) => `${k}<${n}`),
)
// Keys of selectors are validated: only plausible ones remain.
const selector = fc
  .array(
    requirement.filter((text) => !text.includes('__proto__')),
    { minLength: 1, maxLength: 3 },
  )
  .map((requirements) => parseLabelSelector(requirements.join(',')))

function labelled(of: Readonly<Record<string, string>>): ReturnType<typeof canonicalize> {
  const entries = Object.entries(of).map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`)
  const json = `{"metadata":{"name":"p","namespace":"n","labels":{${entries.join(',')}}}}`
  return canonicalize(Buffer.from(json), identity)
}

test('selectors answer as they do on the labels themselves, while sets come and go', () => {
  const step = fc.record({ labels, release: fc.option(fc.nat(), { nil: undefined, freq: 3 }) })
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 80, size: 'max' }),
      fc.array(selector, { maxLength: 6 }),
      (steps, asked) => {
        const sets = new LabelSets()
        const held: { readonly id: number; readonly labels: Record<string, string> }[] = []
        for (const { labels: of, release } of steps) {
          held.push({ id: sets.acquire(labelled(of)), labels: of })
          if (release === undefined) continue
          const [gone] = held.splice(release % held.length, 1)
          if (gone !== undefined) sets.release(gone.id)
        }
        const distinct = new Set(held.map(({ labels: of }) => JSON.stringify(of)))
        assert.equal(sets.count, distinct.size)
        assert.equal(new Set(held.map(({ id }) => id)).size, distinct.size)
        for (const each of asked) {
          const matches = sets.select(each)
          for (const { id, labels: of } of held) {
            const expected = each.matches((k) => (Object.hasOwn(of, k) ? of[k] : undefined))
            assert.equal(matches(id), expected, `${each.toString()} on ${JSON.stringify(of)}`)
          }
        }
      },
    ),
    { numRuns: 200 },
  )
})

test('objects with equal labels share one set', () => {
  const sets = new LabelSets()
  const web = { app: 'web', tier: 'front' }
  const ids = [1, 2, 3].map((i) => sets.acquire(canonicalize(pod({ name: `p${i}`, labels: web }, i), identity)))
  assert.deepEqual(new Set(ids).size, 1)
  sets.release(ids[0] ?? 0)
  sets.release(ids[1] ?? 0)
  assert.equal(sets.count, 1)
  sets.release(ids[2] ?? 0)
  assert.equal(sets.count, 0)
})

test('an object without labels matches what asks for none', () => {
  const sets = new LabelSets()
  const id = sets.acquire(canonicalize(pod({ name: 'p' }, 1), identity))
  assert.equal(sets.select(parseLabelSelector('!app'))(id), true)
  assert.equal(sets.select(parseLabelSelector('app!=web'))(id), true)
  assert.equal(sets.select(parseLabelSelector('app'))(id), false)
})

test('memory of label sets that are gone comes back', () => {
  const sets = new LabelSets()
  for (let i = 0; i < 20_000; i++) {
    sets.release(sets.acquire(canonicalize(pod({ name: 'p', labels: { job: `job-${i}` } }, i), identity)))
  }
  assert.equal(sets.count, 0)
  assert.ok(sets.capacityBytes < 2_500_000, String(sets.capacityBytes))
})

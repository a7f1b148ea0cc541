/** Pages against any churn: objects that nobody touches appear exactly once, in order, whatever the limits are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Page } from '../../src/http/object-page.ts'
import { readPage } from '../../src/http/object-page.ts'
import type { Selection } from '../../src/http/selection.ts'
import { compareUtf8 } from '../../src/util/bytes.ts'
import { pod, podFleet, PODS } from '../proxy/fleet-fixture.ts'

const CLUSTERS = ['m1', 'm2', 'm3']
const NAMESPACES = ['a', 'a-b', 'ab']

const nameOf = fc.integer({ min: 0, max: 30 }).map((n) => `p-${n}`)
const key = fc.record({
  cluster: fc.constantFrom(...CLUSTERS),
  namespace: fc.constantFrom(...NAMESPACES),
  name: nameOf,
})
const change = fc.record({ at: key, deleted: fc.boolean() })

const parity = (object: { readonly [key: string]: unknown }): boolean => (object['n'] as number) % 2 === 0

const selections: readonly Selection[] = [
  { nothing: false },
  { nothing: false, namespace: 'a' },
  { nothing: false, fields: (object) => parity(object) },
]

test('each untouched object is on exactly one page, in order, while others come and go', async () => {
  const run = fc.asyncProperty(
    fc.array(key, { maxLength: 60 }),
    fc.array(fc.record({ limit: fc.integer({ min: 1, max: 9 }), changes: fc.array(change, { maxLength: 4 }) }), {
      minLength: 1,
    }),
    fc.constantFrom(...selections),
    async (present, steps, selection) => {
      const object = (namespace: string, name: string) => pod(namespace, name, { n: name.length + namespace.length })
      const fleet = podFleet({})
      const shards = new Map(CLUSTERS.map((name) => [name, fleet.shard(name, PODS)]))
      for (const name of CLUSTERS) {
        const own = present.filter(({ cluster }) => cluster === name)
        const unique = new Map(own.map((each) => [`${each.namespace}/${each.name}`, object(each.namespace, each.name)]))
        shards.get(name)?.list([...unique.values()], 10)
      }
      const source = fleet.cache.resource(PODS)
      assert.ok(source)
      const idOf = (o: { cluster: string; namespace: string; name: string }) => `${o.cluster}/${o.namespace}/${o.name}`
      const before = source.snapshot({})
      const untouched = new Set(Array.from({ length: before.length }, (_, i) => idOf(before.at(i))))
      const seen: string[] = []
      let version = 10
      let next = ''
      for (let i = 0; ; i++) {
        const { limit, changes } = steps[i % steps.length] as (typeof steps)[number]
        const page: Page = await readPage(source, { selection, clusters: undefined, limit, continue: next })
        assert.ok(page.length <= limit)
        assert.ok(page.continue === '' || page.length === limit)
        for (let j = 0; j < page.length; j++) seen.push(idOf(page.at(j)))
        next = page.continue
        if (next === '') break
        for (const { at, deleted } of changes) {
          untouched.delete(idOf(at))
          const shard = shards.get(at.cluster)
          if (deleted) shard?.delete(object(at.namespace, at.name), ++version)
          else shard?.put(object(at.namespace, at.name), ++version)
        }
      }
      assert.deepEqual(seen, seen.toSorted(byKey), 'in order')
      assert.equal(new Set(seen).size, seen.length, 'nothing twice')
      const wanted = [...untouched].filter((id) => {
        const [, namespace = '', name = ''] = id.split('/')
        if (selection.namespace !== undefined && namespace !== selection.namespace) return false
        return selection.fields === undefined || parity(object(namespace, name))
      })
      for (const id of wanted) assert.ok(seen.includes(id), `${id} is lost`)
      fleet.close()
    },
  )
  await fc.assert(run, { numRuns: 150 })
})

function byKey(a: string, b: string): number {
  const [clusterA = '', ...restA] = a.split('/')
  const [clusterB = '', ...restB] = b.split('/')
  return compareUtf8(clusterA, clusterB) || compareUtf8(restA.join('/'), restB.join('/'))
}

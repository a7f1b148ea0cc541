/** Pages against any churn: together they are the list as it was at the first one, whatever the limits are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Page } from '../../src/http/object-page.ts'
import { readPage } from '../../src/http/object-page.ts'
import type { Selection } from '../../src/http/selection.ts'
import { compareUtf8 } from '../../src/util/bytes.ts'
import { visiblePages } from '../../src/http/visible-pages.ts'
import { parseLabelSelector } from '../../src/kube/label-selector.ts'
import { EVERYTHING } from '../../src/kube/object-scope.ts'
import { clusterName, pod, podFleet, PODS } from '../proxy/fleet-fixture.ts'

const CLUSTERS = ['m1', 'm2', 'm3']
const NAMESPACES = ['a', 'a-b', 'ab']

const nameOf = fc.integer({ min: 0, max: 30 }).map((n) => `p-${n}`)
const key = fc.record({
  cluster: fc.constantFrom(...CLUSTERS),
  namespace: fc.constantFrom(...NAMESPACES),
  name: nameOf,
})
const change = fc.record({ at: key, how: fc.constantFrom('put', 'put', 'delete', 'recreate', 'relist') })

const parity = (object: { readonly [key: string]: unknown }): boolean => (object['n'] as number) % 2 === 0

const selections: readonly Selection[] = [
  { nothing: false },
  { nothing: false, namespace: 'a' },
  { nothing: false, name: 'p-3' },
  { nothing: false, namespace: 'ab', name: 'p-7' },
  { nothing: false, labels: parseLabelSelector('odd!=true') },
  { nothing: false, fields: (object) => parity(object) },
]

/** Changed objects have other contents, labels among them. */
const object = (namespace: string, name: string, n: number) =>
  pod(namespace, name, { metadata: { name, labels: { odd: String(n % 2 === 1) } }, n })

const idOf = (o: { cluster: string; namespace: string; name: string }) => `${o.cluster}/${o.namespace}/${o.name}`

test('A3: the pages of a list are its first state, each object once, in order, whatever happens meanwhile', async () => {
  const run = fc.asyncProperty(
    fc.array(key, { maxLength: 60 }),
    fc.array(fc.record({ limit: fc.integer({ min: 1, max: 9 }), changes: fc.array(change, { maxLength: 6 }) }), {
      minLength: 1,
    }),
    fc.constantFrom(...selections),
    fc.boolean(),
    async (present, steps, selection, isPartlyVisible) => {
      const fleet = podFleet({})
      const shards = new Map(CLUSTERS.map((name) => [name, fleet.shard(name, PODS)]))
      const held = new Map(CLUSTERS.map((name) => [name, new Map<string, ReturnType<typeof object>>()]))
      for (const { cluster, namespace, name } of present) {
        held.get(cluster)?.set(`${namespace}/${name}`, object(namespace, name, name.length + namespace.length))
      }
      for (const name of CLUSTERS) shards.get(name)?.list([...(held.get(name)?.values() ?? [])], 10)
      const resource = fleet.cache.resource(PODS)
      assert.ok(resource)
      const source = isPartlyVisible ? visiblePages(resource, new Map([[clusterName('m2'), EVERYTHING]])) : resource
      const contents = (page: Page): string[] =>
        Array.from({ length: page.length }, (_, i) => `${idOf(page.at(i))} ${String(page.bytesAt(i))}`)
      const whole = await readPage(source, { selection, clusters: undefined, limit: undefined, continue: '' })
      const wanted = contents(whole)
      assert.deepEqual(wanted, wanted.toSorted(byKey), 'in order')
      const seen: string[] = []
      let version = 10
      let next = ''
      for (let i = 0; ; i++) {
        const { limit, changes } = steps[i % steps.length] as (typeof steps)[number]
        const page: Page = await readPage(source, { selection, clusters: undefined, limit, continue: next })
        assert.ok(page.length <= limit)
        assert.ok(page.continue === '' || page.length === limit)
        seen.push(...contents(page))
        if (page.remaining !== undefined) assert.equal(page.remaining, wanted.length - seen.length)
        next = page.continue
        if (next === '') break
        for (const { at, how } of changes) {
          const shard = shards.get(at.cluster)
          const objects = held.get(at.cluster)
          const changed = object(at.namespace, at.name, ++version)
          const id = `${at.namespace}/${at.name}`
          const before = objects?.get(id)
          if ((how === 'delete' || how === 'recreate') && before !== undefined) {
            objects?.delete(id)
            shard?.delete(before, ++version)
          }
          if (how === 'put' || how === 'recreate') {
            const uid = how === 'put' ? changed.metadata['uid'] : `other-${version}`
            const put = { ...changed, metadata: { ...changed.metadata, uid, resourceVersion: String(++version) } }
            objects?.set(id, put)
            shard?.put(put, version)
          }
          if (how === 'relist') {
            objects?.delete(id)
            shard?.list([...(objects?.values() ?? [])], ++version)
          }
        }
      }
      assert.deepEqual(seen, wanted)
      fleet.close()
    },
  )
  await fc.assert(run, { numRuns: 300 })
})

function byKey(a: string, b: string): number {
  const [clusterA = '', namespaceA = '', nameA = ''] = (a.split(' ')[0] ?? '').split('/')
  const [clusterB = '', namespaceB = '', nameB = ''] = (b.split(' ')[0] ?? '').split('/')
  return compareUtf8(clusterA, clusterB) || compareUtf8(`${namespaceA}/${nameA}`, `${namespaceB}/${nameB}`)
}

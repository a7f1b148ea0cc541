/** Pages of a partly visible resource are the pages of the objects that are visible, whatever the rights and the page size. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { PageSource } from '../../src/http/object-page.ts'
import { readPage } from '../../src/http/object-page.ts'
import { visiblePages } from '../../src/http/visible-pages.ts'
import { parseLabelSelector } from '../../src/kube/label-selector.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { EVERYTHING, ObjectScopeBuilder, type ObjectScope } from '../../src/kube/object-scope.ts'
import { NODES, PODS, pod, TestFleet } from '../proxy/fleet-fixture.ts'

// `a-b/x` sorts before `a/x`, and `a/x` before `a0/x`: the slash counts.
const NAMESPACES = ['a', 'a-b', 'a0', 'b']
const NAMES = ['x', 'y', 'z']
const CLUSTERS = ['c1', 'c2', 'c3'] as ClusterName[]

const scope: fc.Arbitrary<ObjectScope> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(EVERYTHING) },
  {
    weight: 5,
    arbitrary: fc
      .array(
        fc.tuple(
          fc.constantFrom('', ...NAMESPACES, 'gone'),
          fc.array(fc.constantFrom('', ...NAMES), { minLength: 0, maxLength: 2 }),
        ),
        { maxLength: 5 },
      )
      .map((grants) => {
        const builder = new ObjectScopeBuilder()
        for (const [namespace, names] of grants) {
          if (namespace !== '' || names.length > 0) builder.grant(namespace, names)
        }
        return builder.build()
      }),
  },
)
const scopes = fc
  .tuple(scope, scope, fc.option(scope))
  .map(
    (list) => new Map(list.flatMap((each, i) => (each === null ? [] : [[CLUSTERS[i] as ClusterName, each] as const]))),
  )
const object = fc.record({
  cluster: fc.constantFrom(...CLUSTERS),
  namespace: fc.constantFrom(...NAMESPACES),
  name: fc.constantFrom(...NAMES),
})

async function allPages(source: PageSource, limit: number | undefined, selection: object): Promise<string[]> {
  const found: string[] = []
  let token = ''
  do {
    const request = { selection: { nothing: false, ...selection }, clusters: undefined, limit, continue: token }
    const page = await readPage(source, request)
    for (let i = 0; i < page.length; i++) {
      const { cluster, namespace, name } = page.at(i)
      const { metadata } = JSON.parse(Buffer.from(page.bytesAt(i)).toString()) as { metadata: { name: string } }
      assert.equal(metadata.name, name)
      found.push(`${cluster}/${namespace}/${name}`)
    }
    if (page.continue !== '' && Object.keys(selection).length === 0) assert.ok(page.remaining !== undefined)
    assert.ok(limit === undefined || page.length <= limit)
    token = page.continue
  } while (token !== '')
  return found
}

test('every page size shows the visible objects once, in order', async () => {
  const selections = fc.constantFrom<object>(
    {},
    { namespace: 'a' },
    { name: 'x' },
    { namespace: 'a-b', name: 'y' },
    { labels: parseLabelSelector('odd=true') },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(object, { selector: (each) => JSON.stringify(each), maxLength: 25 }),
      scopes,
      fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
      selections,
      async (objects, rights, limit, selection) => {
        const fleet = new TestFleet().register(PODS, 'Pod', true)
        for (const cluster of CLUSTERS) {
          const pods = objects
            .filter((each) => each.cluster === cluster)
            .map(({ namespace, name }) =>
              pod(namespace, name, { metadata: { name, labels: { odd: String(name === 'y') } } }),
            )
          fleet.shard(cluster, PODS).list(pods, 7)
        }
        const reader = fleet.cache.resource(PODS)
        assert.ok(reader !== undefined)
        const everything = await allPages(reader, undefined, selection)
        const expected = everything.filter((key) => {
          const [cluster = '', namespace = '', name = ''] = key.split('/')
          return rights.get(cluster as ClusterName)?.shown.allows(namespace, name) === true
        })
        assert.deepEqual(await allPages(visiblePages(reader, rights), limit, selection), expected)
        fleet.close()
      },
    ),
    { numRuns: 400 },
  )
})

test('objects without namespaces are visible as a whole or by their names', async () => {
  const fleet = new TestFleet().register(NODES, 'Node', false)
  const nodes = ['n1', 'n2', 'n3'].map((name) => ({ metadata: { name, uid: name } }))
  for (const cluster of CLUSTERS) fleet.shard(cluster, NODES, 'Node', false).list(nodes, 7)
  const builder = new ObjectScopeBuilder()
  builder.grant('', ['n2'])
  builder.grant('a', [])
  const rights = new Map([
    [CLUSTERS[0] as ClusterName, builder.build().withoutNamespaces],
    [CLUSTERS[2] as ClusterName, EVERYTHING],
  ])
  const reader = fleet.cache.resource(NODES)
  assert.ok(reader !== undefined)
  const found = await allPages(visiblePages(reader, rights), 2, {})
  assert.deepEqual(found, ['c1//n2', 'c3//n1', 'c3//n2', 'c3//n3'])
  fleet.close()
})

/** What plain clients may ask of our own: any field, the cluster as a field and as a column, an order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSchemaFields } from '../../src/proxy/openapi/schema-fields.ts'
import { hasPath, type Schemas, structureOf } from '../../src/proxy/openapi/schema-path.ts'
import { P, PREFIX, S, withApi } from './api-fixture.ts'
import type { TestFleet } from './fleet-fixture.ts'
import { pod, podFleet, PODS } from './fleet-fixture.ts'
import { listingClient, MemberWorld, scriptedClient, served } from './member-fixture.ts'

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any

const reference = (name: string) => ({ allOf: [{ $ref: `#/components/schemas/${name}` }] })

const SCHEMAS: Schemas = {
  Pod: {
    properties: {
      metadata: { properties: { annotations: { additionalProperties: {} } } },
      spec: reference('PodSpec'),
      status: { 'x-kubernetes-preserve-unknown-fields': true },
    },
    'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Pod' }],
  },
  PodSpec: { properties: { containers: { items: reference('Container') }, priority: {} } },
  Container: { properties: { image: {}, env: { items: { properties: { name: {} } } } } },
}

test('a path is in a schema behind references, lists, maps and where unknown fields are kept', () => {
  const gvk = { group: '', version: 'v1', kind: 'Pod' }
  const has = (...path: string[]) => hasPath(SCHEMAS, gvk, path)
  assert.ok(has('spec', 'containers', 'image'))
  assert.ok(has('spec', 'containers', 'env', 'name'))
  assert.ok(has('metadata', 'annotations', 'a.b/c'))
  assert.ok(has('status', 'anything', 'below'))
  assert.ok(!has('spec', 'foo'))
  assert.ok(!has('spec', 'priority', 'below'))
  assert.ok(!has('toString'))
  assert.ok(!hasPath(SCHEMAS, { ...gvk, kind: 'Node' }, ['spec']))
  const structure = structureOf(SCHEMAS, gvk)
  assert.deepEqual(Object.keys(structure).toSorted(), ['Container', 'Pod', 'PodSpec'])
  assert.ok(hasPath(structure, gvk, ['spec', 'containers', 'env', 'name']))
  assert.ok(hasPath(structure, gvk, ['status', 'anything']))
  assert.ok(hasPath(structure, gvk, ['metadata', 'annotations', 'a.b/c']))
  assert.deepEqual(structureOf(SCHEMAS, { ...gvk, kind: 'Node' }), {})
  const circle: Schemas = { A: { ...reference('A'), 'x-kubernetes-group-version-kind': [gvk] } }
  assert.ok(!hasPath(circle, gvk, ['spec']))
})

const spec = (...images: string[]) => ({ spec: { containers: images.map((image) => ({ name: image, image })) } })

function threePods(): TestFleet {
  return podFleet({
    'eu-1': { objects: [pod('a', 'p', spec('nginx', 'envoy')), pod('a', 'q')], version: 5 },
    'us-1': { objects: [pod('a', 'r', spec('nginx'))], version: 7 },
  })
}

/** Members whose documents are read for fields; how often is counted. */
function documented(fleet: TestFleet): {
  members: MemberWorld
  asked: string[]
  fields: ReturnType<typeof createSchemaFields>
} {
  const members = new MemberWorld(fleet.clock)
  const asked: string[] = []
  const client = scriptedClient(({ path }) => {
    asked.push(path)
    return { body: { components: { schemas: SCHEMAS } } }
  })
  for (const { name } of fleet.clusters.map((name) => ({ name }))) members.engage(name, client, [served('pods', 'Pod')])
  const fields = createSchemaFields({ fleet: members.fleet, discovery: members.discovery, clock: fleet.clock })
  return { members, asked, fields }
}

const names = ({ json }: { json: Json }): string[] => json.items.map(({ metadata }: Json) => metadata.name)

test('E6: any path of the kind’s schema selects, in lists and search/cache; one that is not in it is 400', async () => {
  const fleet = threePods()
  const { members, asked, fields } = documented(fleet)
  await withApi(
    fleet,
    members,
    async (api) => {
      const select = (selector: string) => `fieldSelector=${encodeURIComponent(selector)}`
      for (const base of [`${P}/api/v1/pods`, `${S}/api/v1/pods`]) {
        assert.deepEqual(names(await api.ask(`${base}?${select('spec.containers.image=nginx')}`)), ['p', 'r'])
        assert.deepEqual(names(await api.ask(`${base}?${select('spec.containers.image!=envoy')}`)), ['q', 'r'])
        assert.deepEqual(names(await api.ask(`${base}?${select('spec.priority=')}`)), ['p', 'q', 'r'])
        assert.deepEqual(names(await api.ask(`${base}?${select("metadata.annotations['a.b/c']=x")}`)), [])
        for (const field of ['spec.foo', 'spec.containers[0].image', 'constructor', '.spec']) {
          const { status, json } = await api.ask(`${base}?${select(`${field}=1`)}`)
          assert.equal(status, 400, field)
          assert.equal(json.message, `field label not supported: ${field}`)
        }
      }
      const before = asked.length
      assert.equal(before, 2, 'one document of each of the two members')
      await api.ask(`${P}/api/v1/pods?${select('spec.never.asked.before=nginx')}`)
      assert.equal(asked.length, before, 'nobody makes us read it again by asking for other fields')
      const watch = await api.watch(
        `${P}/api/v1/pods?watch=true&resourceVersion=0&${select('spec.containers.image=envoy')}`,
      )
      await watch.until(1)
      fleet.shard('us-1', PODS).put(pod('a', 'r', spec('envoy')), 8)
      await watch.until(2)
      fleet.shard('us-1', PODS).put(pod('a', 'r', spec('nginx')), 9)
      await watch.until(3)
      assert.deepEqual(
        watch.events.map(({ type, object }) => `${type} ${object.metadata.name}`),
        ['ADDED p', 'ADDED r', 'DELETED r'],
      )
      watch.close()
    },
    { fields },
  )
})

test('the cluster is a field of every object: in lists, on all pages, in watches, and of kinds read live', async () => {
  const fleet = threePods()
  const members = new MemberWorld(fleet.clock)
  const lists = (name: string) => ({ '/api/v1/pods': { kind: 'PodList', items: [pod('a', name)] } })
  members.engage('eu-1', listingClient(lists('live-eu'), 5), [served('pods', 'Pod')])
  members.engage('us-1', listingClient(lists('live-us'), 7), [served('pods', 'Pod')])
  await withApi(fleet, members, async (api) => {
    const list = async (selector: string, more = '') =>
      names(await api.ask(`${P}/api/v1/pods?fieldSelector=${encodeURIComponent(selector)}${more}`))
    assert.deepEqual(await list('cluster=eu-1'), ['p', 'q'])
    assert.deepEqual(await list('cluster!=eu-*'), ['r'])
    assert.deepEqual(await list('cluster=none'), [])
    assert.deepEqual(await list('cluster=us-*,metadata.name=r'), ['r'])
    assert.deepEqual(await list('cluster=us-1', '&consistency=strong'), ['live-us'])
    const first = await api.ask(`${P}/api/v1/pods?limit=1&fieldSelector=cluster%3Deu-1`)
    assert.deepEqual(names(first), ['p'])
    const token = `&limit=1&continue=${first.json.metadata.continue}`
    assert.deepEqual(await list('cluster=eu-1', token), ['q'])
    const watch = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=0&fieldSelector=cluster%3Dus-1`)
    await watch.until(1)
    fleet.shard('eu-1', PODS).put(pod('a', 'p'), 6)
    fleet.shard('us-1', PODS).put(pod('a', 's'), 8)
    await watch.until(2)
    assert.deepEqual(
      watch.events.map(({ object }) => object.metadata.name),
      ['r', 's'],
    )
    watch.close()
  })
})

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

test('CLUSTER is a column where it is asked for: lists, objects, watches, search/cache, by parameter, header or path', async () => {
  const fleet = threePods()
  await withApi(fleet, new MemberWorld(fleet.clock), async (api) => {
    const headers = { accept: TABLE }
    const shown = ({ columnDefinitions, rows }: Json): unknown[] => [
      columnDefinitions.slice(0, 3).map(({ name }: Json) => name),
      rows.map(({ cells }: Json) => cells.slice(0, 2)),
    ]
    const whole = [
      ['Name', 'Cluster', 'Ready'],
      [
        ['p', 'eu-1'],
        ['q', 'eu-1'],
        ['r', 'us-1'],
      ],
    ]
    for (const url of [
      `${P}/api/v1/pods?clusterColumn=true`,
      `${S}/api/v1/pods?clusterColumn=true`,
      `${PREFIX}/proxying/karmada;clusterColumn=true/proxy/api/v1/pods`,
      `${PREFIX}/proxying/karmada;clusterColumn/proxy/api/v1/pods?limit=500`,
    ]) {
      assert.deepEqual(shown((await api.ask(url, { headers })).json), whole, url)
    }
    const byHeader = { ...headers, 'fleetsearch-cluster-column': 'true' }
    assert.deepEqual(shown((await api.ask(`${P}/api/v1/pods`, { headers: byHeader })).json), whole)
    const one = await api.ask(`${P}/api/v1/namespaces/a/pods/r?clusterColumn=true`, { headers })
    assert.deepEqual(shown(one.json), [whole[0], [['r', 'us-1']]])
    assert.equal((await api.ask(`${P}/api/v1/pods`, { headers })).json.columnDefinitions[1].name, 'Ready')
    const watch = await api.watch(`${P}/api/v1/pods?watch=true&resourceVersion=0&clusterColumn=true`, { headers })
    await watch.until(3)
    assert.deepEqual(watch.events[0]?.object.columnDefinitions[1].name, 'Cluster')
    assert.deepEqual(
      watch.events.map(({ object }) => (object as Json).rows[0].cells[1]),
      ['eu-1', 'eu-1', 'us-1'],
    )
    watch.close()
  })
})

test('an order is asked for in the query or in the server’s path, and holds across pages and changes', async () => {
  const fleet = podFleet({
    m1: { objects: [pod('a', 'x', { spec: { priority: 3 } }), pod('a', 'y', { spec: { priority: 20 } })], version: 1 },
    m2: { objects: [pod('a', 'z', { spec: { priority: 10 } }), pod('a', 'none')], version: 1 },
  })
  const members = new MemberWorld(fleet.clock)
  members.engage('m1', listingClient({}, 1), [served('pods', 'Pod')])
  await withApi(fleet, members, async (api) => {
    const sorted = `${PREFIX}/proxying/karmada;sortBy=-.spec.priority/proxy`
    assert.deepEqual(names(await api.ask(`${sorted}/api/v1/pods`)), ['y', 'z', 'x', 'none'])
    assert.deepEqual(names(await api.ask(`${sorted}/api/v1/pods?sortBy=name`)), ['none', 'x', 'y', 'z'])
    const first = await api.ask(`${sorted}/api/v1/pods?limit=2`)
    fleet.shard('m1', PODS).delete(pod('a', 'x'), 2)
    fleet.shard('m2', PODS).put(pod('a', 'none', { spec: { priority: 9 } }), 2)
    const second = await api.ask(`${sorted}/api/v1/pods?limit=2&continue=${first.json.metadata.continue}`)
    assert.deepEqual([...names(first), ...names(second)], ['y', 'z', 'x', 'none'], 'the state of the first page')
    const broken = await api.ask(`${PREFIX}/proxying/karmada;sortby=name/proxy/api/v1/pods`)
    assert.equal(broken.status, 400)
    const none = await api.ask(`${P}/api/v1/pods?sortBy=-.spec.priority,nothing`)
    assert.deepEqual([none.status, /"nothing" is no column/.test(none.json.message)], [400, true])
  })
})

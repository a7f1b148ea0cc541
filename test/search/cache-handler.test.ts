import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { S, withApi } from '../proxy/api-fixture.ts'
import type { TestObject } from '../proxy/fleet-fixture.ts'
import { NODES, pod, podFleet, PODS, TestFleet } from '../proxy/fleet-fixture.ts'
import { MemberWorld } from '../proxy/member-fixture.ts'

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any

const DEPLOYMENTS = { group: 'apps', version: 'v1', resource: 'deployments' }
const NAMESPACES = { group: '', version: 'v1', resource: 'namespaces' }

const nameOf = ({ metadata }: Json): string =>
  [metadata.annotations['cluster.karmada.io/name'], metadata.namespace ?? '-', metadata.name].join('/')

function two(): TestFleet {
  return podFleet({
    member2: {
      objects: [pod('b', 'x'), pod('a', 'z', { metadata: { name: 'z', labels: { tier: 'web' } } })],
      version: 2,
    },
    member1: {
      objects: [pod('a-b', 'y'), pod('a', 'y', { metadata: { name: 'y', labels: { tier: 'db' } } })],
      version: 1,
    },
  })
}

const world = (fleet: TestFleet): MemberWorld => new MemberWorld(fleet.clock)

test('E8: lists and named reads of every scope, kinds, media type, empty items', async () => {
  const fleet = two().register(DEPLOYMENTS, 'Deployment', true).register(NAMESPACES, 'Namespace', false)
  fleet.shard('member1', NAMESPACES, 'Namespace', false).list([{ metadata: { name: 'default' } }], 9)
  fleet.shard('member1', DEPLOYMENTS, 'Deployment', true).list([], 9)
  await withApi(fleet, world(fleet), async (api) => {
    const expected: [string, string, string, string[]][] = [
      ['/api/v1/pods', 'v1', 'PodList', ['member1/a-b/y', 'member1/a/y', 'member2/a/z', 'member2/b/x']],
      ['/api/v1/pods/', 'v1', 'PodList', ['member1/a-b/y', 'member1/a/y', 'member2/a/z', 'member2/b/x']],
      ['/api/v1/namespaces/a/pods', 'v1', 'PodList', ['member1/a/y', 'member2/a/z']],
      ['/api/v1/namespaces/a/pods/y', 'v1', 'PodList', ['member1/a/y']],
      ['/api/v1/namespaces/a/pods/absent', 'v1', 'PodList', []],
      ['/api/v1/pods/y', 'v1', 'PodList', []],
      ['/apis/apps/v1/deployments', 'apps/v1', 'DeploymentList', []],
      ['/api/v1/namespaces', 'v1', 'NamespaceList', ['member1/-/default']],
      ['/api/v1/namespaces/default', 'v1', 'NamespaceList', ['member1/-/default']],
    ]
    for (const [path, apiVersion, kind, names] of expected) {
      const { status, json, headers } = await api.ask(S + path)
      assert.equal(status, 200, path)
      assert.equal(headers['content-type'], 'application/json')
      assert.equal(json.apiVersion, apiVersion)
      assert.equal(json.kind, kind)
      assert.deepEqual(json.metadata, {})
      assert.deepEqual(json.items.map(nameOf), names, path)
      for (const item of json.items)
        assert.deepEqual([item.kind, item.apiVersion], [kind.replace('List', ''), apiVersion])
    }
  })
})

test('E8: unknown kinds, paths that are no resource, subresources and verbs are a Status that also says error', async () => {
  const fleet = two()
  await withApi(fleet, world(fleet), async (api) => {
    const refused: [string, number, RegExp][] = [
      ['', 400, /proxying/],
      ['/', 400, /proxying/],
      ['/apis/apps/v1', 400, /proxying/],
      ['/version', 400, /proxying/],
      ['/api/v1/namespaces/a/pods/y/log', 400, /proxying/],
      ['/api/v1/../v1/pods', 400, /proxying/],
      ['/api/v1/pods/a%2Fb', 400, /proxying/],
      ['/apis/no.such/v1/things', 404, /no\.such\/v1 things/],
      ['/api/v1/namespaces/a/nodes', 404, /could not find/],
      ['/api/v1/pods?labelSelector=%3D%3D', 400, /./],
      ['/api/v1/pods?fieldSelector=spec.foo%3D1', 400, /field label not supported/],
      ['/api/v1/pods?limit=abc', 400, /parsing "abc"/],
      ['/api/v1/pods?continue=xx', 400, /continue/],
      ['/api/v1/pods?cluster=nope', 404, /"nope" not found/],
      ['/api/v1/pods?cluster=nope-*', 404, /not found/],
      ['/api/v1/pods?sortBy=nothing', 400, /sortBy/],
      ['/api/v1/pods?watch=true', 422, /proxying/],
      ['/api/v1/watch/pods', 422, /proxying/],
      ['/api/v1/pods?sendInitialEvents=true', 422, /sendInitialEvents/],
    ]
    fleet.register(NODES, 'Node', false)
    for (const [path, code, message] of refused) {
      const { status, json, headers } = await api.ask(S + path)
      assert.equal(status, code, path)
      assert.equal(headers['content-type'], 'application/json')
      assert.equal(json.kind, 'Status')
      assert.equal(json.status, 'Failure')
      assert.match(json.message, message, path)
      assert.equal(json.error, json.message)
    }
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      assert.equal((await api.ask(`${S}/api/v1/pods`, { method })).status, 405)
    }
  })
})

test('while no cluster has told what it serves, no kind is called unknown', async () => {
  const fleet = new TestFleet()
  await withApi(fleet, world(fleet), async (api) => {
    const early = await api.ask(`${S}/api/v1/pods`)
    assert.equal(early.status, 503)
    assert.equal(early.headers['retry-after'], '1')
    fleet.knownResources.push({ ...PODS, kind: 'Pod', namespaced: true })
    assert.equal((await api.ask(`${S}/api/v1/pods`)).status, 200)
    assert.equal((await api.ask(`${S}/api/v1/nodes`)).status, 404)
  })
})

test('a known kind that nobody registered, and another version than the registered one, are empty lists', async () => {
  const hpa = (version: string) => ({ group: 'autoscaling', version, resource: 'horizontalpodautoscalers' })
  const fleet = two().register(hpa('v2'), 'HorizontalPodAutoscaler', true)
  fleet.knownResources.push({ ...hpa('v1'), kind: 'HorizontalPodAutoscaler', namespaced: true })
  fleet.knownResources.push({ group: '', version: 'v1', resource: 'services', kind: 'Service', namespaced: true })
  await withApi(fleet, world(fleet), async (api) => {
    const services = await api.ask(`${S}/api/v1/services`)
    assert.deepEqual(services.json, { apiVersion: 'v1', kind: 'ServiceList', metadata: {}, items: [] })
    const old = await api.ask(`${S}/apis/autoscaling/v1/horizontalpodautoscalers`)
    assert.deepEqual(old.json.items, [])
    assert.match(String(old.headers['warning']), /registered as autoscaling\/v2/)
    assert.equal((await api.ask(`${S}/apis/autoscaling/v3/horizontalpodautoscalers`)).status, 404)
  })
})

test('clusters by name, list and wildcard; labels; fields; also on a named read', async () => {
  const fleet = two()
  await withApi(fleet, world(fleet), async (api) => {
    const names = async (query: string): Promise<string[]> =>
      (await api.ask(`${S}/api/v1/${query}`)).json.items.map(nameOf)
    assert.deepEqual(await names('pods?cluster=member2'), ['member2/a/z', 'member2/b/x'])
    assert.equal((await names('pods?cluster=member1,member2')).length, 4)
    assert.equal((await names('pods?cluster=member1&cluster=member2')).length, 4)
    assert.deepEqual(await names('pods?cluster=*2'), ['member2/a/z', 'member2/b/x'])
    assert.deepEqual(await names('pods?labelSelector=tier!%3Dweb,tier'), ['member1/a/y'])
    assert.deepEqual(await names('pods?labelSelector=tier%20in%20(web,db)'), ['member1/a/y', 'member2/a/z'])
    assert.deepEqual(await names('pods?fieldSelector=metadata.namespace%3Db'), ['member2/b/x'])
    assert.deepEqual(await names('namespaces/a/pods?fieldSelector=metadata.namespace%3Db'), [])
    assert.deepEqual(await names('namespaces/a/pods/y?labelSelector=tier%3Dweb'), [])
    const { headers } = await api.ask(`${S}/api/v1/pods?cluster=member2`)
    assert.equal(headers['fleetsearch-freshness'], 'member2;live;0', 'only what the answer covers')
  })
})

test('pages in key order end with no token, and each object is on one of them', async () => {
  const fleet = two()
  await withApi(fleet, world(fleet), async (api) => {
    const seen: string[] = []
    for (let next = ''; ;) {
      const { json } = await api.ask(`${S}/api/v1/pods?limit=3${next === '' ? '' : `&continue=${next}`}`)
      seen.push(...json.items.map(nameOf))
      assert.equal('resourceVersion' in json.metadata, false)
      next = json.metadata.continue ?? ''
      if (next === '') break
      assert.equal(json.metadata.remainingItemCount, 1)
    }
    assert.deepEqual(seen, ['member1/a-b/y', 'member1/a/y', 'member2/a/z', 'member2/b/x'])
  })
})

test('sortBy: numbers as numbers, text without case, missing last in both directions, ties in key order', async () => {
  const withRestarts = (name: string, restarts: number | undefined): TestObject =>
    pod('a', name, {
      spec: { containers: [{ name: 'c' }] },
      status: restarts === undefined ? {} : { containerStatuses: [{ name: 'c', restartCount: restarts, state: {} }] },
      custom: restarts === undefined ? {} : { size: `${restarts}Gi`, note: name.toUpperCase() },
    })
  const objects = [withRestarts('b', 10), withRestarts('A', 2), withRestarts('c', 9), withRestarts('d', undefined)]
  const fleet = podFleet({ m2: { objects, version: 1 }, m1: { objects, version: 1 } })
  await withApi(fleet, world(fleet), async (api) => {
    const sorted = async (sortBy: string, limit = 100): Promise<string[]> => {
      const seen: string[] = []
      for (let next = ''; ;) {
        const query = `sortBy=${encodeURIComponent(sortBy)}&limit=${limit}${next === '' ? '' : `&continue=${next}`}`
        const { json, status } = await api.ask(`${S}/api/v1/pods?${query}`)
        assert.equal(status, 200, JSON.stringify(json))
        seen.push(
          ...json.items.map(
            (item: Json) => `${item.metadata.annotations['cluster.karmada.io/name']}/${item.metadata.name}`,
          ),
        )
        next = json.metadata.continue ?? ''
        if (next === '') return seen
      }
    }
    const bySize = ['m1/A', 'm2/A', 'm1/c', 'm2/c', 'm1/b', 'm2/b', 'm1/d', 'm2/d']
    assert.deepEqual(await sorted('.custom.size'), bySize)
    assert.deepEqual(await sorted('-{.custom.size}'), ['m1/b', 'm2/b', 'm1/c', 'm2/c', 'm1/A', 'm2/A', 'm1/d', 'm2/d'])
    assert.deepEqual(await sorted('.custom.size', 3), bySize, 'the same in pages')
    const byRestarts = await sorted('-restarts,-cluster')
    assert.deepEqual(byRestarts.slice(0, 6), ['m2/b', 'm1/b', 'm2/c', 'm1/c', 'm2/A', 'm1/A'])
    assert.deepEqual(await sorted('name,cluster', 1), ['m1/A', 'm2/A', 'm1/b', 'm2/b', 'm1/c', 'm2/c', 'm1/d', 'm2/d'])
    const first = await api.ask(`${S}/api/v1/pods?sortBy=name&limit=1`)
    const other = await api.ask(`${S}/api/v1/pods?sortBy=-name&limit=1&continue=${first.json.metadata.continue}`)
    assert.equal(other.status, 400, 'a token of another order')
  })
})

test('a large list is the same plain and gzipped, byte for byte what is cached', async () => {
  const objects = Array.from({ length: 300 }, (_, i) =>
    pod('ns', `p-${String(i).padStart(4, '0')}`, { spec: { padding: 'x'.repeat(2_000), big: i, text: 'ü漢🚀' } }),
  )
  const fleet = podFleet({ m1: { objects, version: 1 } })
  await withApi(fleet, world(fleet), async (api) => {
    const plain = await api.ask(`${S}/api/v1/pods`)
    const zipped = await api.ask(`${S}/api/v1/pods`, { headers: { 'accept-encoding': 'gzip' } })
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.equal(zipped.headers['content-encoding'], 'gzip')
    assert.ok(zipped.raw.length < plain.raw.length / 5)
    assert.equal(zipped.text, plain.text)
    assert.ok(gzipSync(plain.raw).length > 0)
    const snapshot = fleet.cache.resource(PODS)?.snapshot({})
    const bytes = Buffer.from(snapshot?.bytesAt(7) ?? []).toString()
    assert.ok(plain.text.includes(bytes))
    assert.equal(plain.json.items.length, 300)
  })
})

test('G8: what the members sent survives: big integers, key order, odd keys, microseconds', async () => {
  const raw =
    '{"zeta":1,"metadata":{"name":"cr","namespace":"a","uid":"u","resourceVersion":"5"},"spec":{"int":9007199254740993,' +
    '"__proto__":{"x":1},"constructor":"c","exp":"1e3","eventTime":"2026-01-02T03:04:05.123456Z"},"alpha":[]}'
  const foos = { group: 'example.io', version: 'v1', resource: 'foos' }
  const fleet = new TestFleet().register(foos, 'Foo', true)
  const shard = fleet.shard('m1', foos, 'Foo')
  const replacement = shard.writer.beginReplace()
  replacement.add(Buffer.from(raw))
  replacement.commit('5' as never)
  await withApi(fleet, world(fleet), async (api) => {
    const { text } = await api.ask(`${S}/apis/example.io/v1/foos`)
    assert.ok(text.includes('"zeta":1,"metadata":{'))
    assert.ok(text.includes(raw.slice(raw.indexOf('"spec"'))))
    const yaml = await api.ask(`${S}/apis/example.io/v1/foos`, { headers: { accept: 'application/yaml' } })
    assert.match(yaml.text, /int: 9007199254740993\n/)
    assert.match(yaml.text, /exp: "1e3"\n/)
  })
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { Registry } from '../../src/telemetry/metrics.ts'
import type { ObjectKey } from '../../src/kube/names.ts'
import { parseLabelSelector } from '../../src/kube/label-selector.ts'
import { versionsText } from './client.ts'
import { cluster, list, newCache, pod, PODS, replace, type TestCache } from './objects.ts'

function twoClusters(): TestCache {
  const context = newCache()
  const objects = (at: number): Buffer[] => [
    pod({ namespace: 'a', name: 'p', labels: { app: 'web' } }, at),
    pod({ namespace: 'a-b', name: 'p', labels: { app: 'db' } }, at),
    pod({ namespace: 'a', name: 'q' }, at),
    pod({ namespace: 'b', name: 'p', labels: { app: 'web' } }, at),
  ]
  replace(context.open('m10'), objects(3), 30)
  replace(context.open('m2'), objects(4), 40)
  context.open('m3')
  return context
}

test('clusters by the bytes of their names, objects by the bytes of namespace/name', () => {
  const { pods } = twoClusters()
  assert.deepEqual(list(pods), [
    'm10/a-b/p@3',
    'm10/a/p@3',
    'm10/a/q@3',
    'm10/b/p@3',
    'm2/a-b/p@4',
    'm2/a/p@4',
    'm2/a/q@4',
    'm2/b/p@4',
  ])
})

test('filters: clusters, namespace, name, labels, and all of them together', () => {
  const { pods } = twoClusters()
  const m2 = new Set([cluster('m2')])
  assert.deepEqual(list(pods, { namespace: 'a', clusters: m2 }), ['m2/a/p@4', 'm2/a/q@4'])
  assert.deepEqual(list(pods, { namespace: 'a', name: 'q' }), ['m10/a/q@3', 'm2/a/q@4'])
  assert.deepEqual(list(pods, { name: 'q' }), ['m10/a/q@3', 'm2/a/q@4'])
  assert.deepEqual(list(pods, { name: 'none' }), [])
  assert.deepEqual(list(pods, { namespace: '', clusters: m2 }).length, 4)
  const labels = parseLabelSelector('app=web')
  assert.deepEqual(list(pods, { labels, clusters: m2 }), ['m2/a/p@4', 'm2/b/p@4'])
  assert.deepEqual(list(pods, { labels, namespace: 'b', name: 'p', clusters: m2 }), ['m2/b/p@4'])
  assert.equal(versionsText(pods.snapshot({ clusters: m2 }).versions), '{"m2":"40"}')
  assert.equal(versionsText(pods.snapshot({}).versions), '{"m10":"30","m2":"40"}')
})

test('pages: a limit, what remains behind it, and going on behind an object that may be gone', () => {
  const { pods } = twoClusters()
  const labels = parseLabelSelector('app=web')
  const page = pods.snapshot({ limit: 3 })
  assert.deepEqual([page.length, page.remaining], [3, 5])
  const byLabel = pods.snapshot({ limit: 3, labels })
  assert.deepEqual([byLabel.length, byLabel.remaining], [3, 1])
  assert.deepEqual([pods.snapshot({ limit: 8 }).remaining, pods.snapshot({ limit: 0 }).remaining], [0, 8])
  const after = (name: string, key: string): string[] =>
    list(pods, { after: { cluster: cluster(name), key: key as ObjectKey } })
  assert.deepEqual(after('m10', 'b/p'), ['m2/a-b/p@4', 'm2/a/p@4', 'm2/a/q@4', 'm2/b/p@4'])
  assert.deepEqual(after('m2', 'a/pp'), ['m2/a/q@4', 'm2/b/p@4'])
  assert.deepEqual(after('m11', 'zzz'), ['m2/a-b/p@4', 'm2/a/p@4', 'm2/a/q@4', 'm2/b/p@4'])
  assert.deepEqual(after('m2', 'b/p'), [])
  const inNamespace = { namespace: 'a', after: { cluster: cluster('m2'), key: 'a/p' as ObjectKey } }
  assert.deepEqual(list(pods, inNamespace), ['m2/a/q@4'])
})

test('objects without namespaces', () => {
  const { cache, open } = newCache()
  const gvr = { group: '', version: 'v1', resource: 'nodes' }
  const writer = open('m1', { gvr, kind: 'Node', namespaced: false, namespaces: new Set(['irrelevant']) })
  const node = (name: string): Buffer => Buffer.from(JSON.stringify({ metadata: { name, resourceVersion: '5' } }))
  replace(writer, [node('b'), node('a')], 10)
  const nodes = cache.resource(gvr)
  assert.ok(nodes)
  assert.deepEqual(list(nodes), ['m1//a@5', 'm1//b@5'])
  assert.deepEqual(list(nodes, { name: 'b' }), ['m1//b@5'])
  assert.deepEqual(list(nodes, { after: { cluster: cluster('m1'), key: 'a' as ObjectKey } }), ['m1//b@5'])
  assert.match(String(nodes.get(cluster('m1'), '', 'a')?.bytes), /"kind":"Node","apiVersion":"v1"/)
})

test('names beyond ASCII, and versions with escapes, come out as they are', () => {
  const { pods, open } = newCache()
  const json = String.raw`{"metadata":{"name":"漢é","namespace":"ü","uid":"ü","resourceVersion":"a\"b"}}`
  replace(open('m1'), [Buffer.from(json)], 'x')
  const object = pods.get(cluster('m1'), 'ü', '漢é')
  assert.deepEqual([object?.namespace, object?.name, object?.uid, object?.resourceVersion], ['ü', '漢é', 'ü', 'a"b'])
  const { bytes, versionStart = 0, versionEnd = 0 } = object ?? {}
  assert.equal(Buffer.from(bytes ?? []).toString('utf8', versionStart, versionEnd), String.raw`a\"b`)
})

test('a snapshot can be read in any order, and only where it has objects', () => {
  const { pods } = twoClusters()
  const snapshot = pods.snapshot({})
  for (const index of [7, 0, 4, 3, 7, 1]) assert.deepEqual(snapshot.bytesAt(index), snapshot.at(index).bytes)
  assert.throws(() => snapshot.at(8), RangeError)
  assert.throws(() => snapshot.bytesAt(-1), RangeError)
})

test('registering another version of a resource takes the place of the first', () => {
  const { cache, open } = newCache()
  replace(open('m1'), [pod({ name: 'a' }, 1)], 1)
  cache.register(PODS, 'Pod', true)
  assert.equal(cache.resource(PODS)?.snapshot({}).length, 1)
  cache.register({ ...PODS, version: 'v2' }, 'Pod', true)
  assert.equal(cache.resource(PODS)?.gvr.version, 'v2')
  assert.equal(cache.resource(PODS)?.snapshot({}).length, 0)
  assert.equal(cache.resources().length, 1)
})

test('metrics: objects, bytes, events, watchers, the window', async () => {
  const metrics = new Registry()
  const { open, cache } = newCache({ metrics })
  const writer = open('m1')
  replace(writer, [pod({ name: 'a' }, 1)], 1)
  writer.apply('ADDED', pod({ name: 'b' }, 2))
  open('m2')
  const text = await metrics.metrics()
  assert.match(text, /fleetsearch_cache_objects\{cluster="m1",resource="v1\/pods"\} 2/)
  assert.match(text, /fleetsearch_cache_synced\{cluster="m2",resource="v1\/pods"\} 0/)
  assert.match(text, /fleetsearch_cache_events_total\{resource="v1\/pods",type="ADDED"\} 1/)
  assert.match(text, /fleetsearch_cache_window_entries\{resource="v1\/pods"\} 2/)
  assert.match(text, /fleetsearch_cache_object_bytes\{resource="v1\/pods"\} [1-9]/)
  assert.match(text, /fleetsearch_cache_memory_bytes\{resource="v1\/pods"\} [1-9]/)
  assert.match(text, /fleetsearch_cache_watchers\{resource="v1\/pods"\} 0/)
  cache.unregister(PODS)
  assert.doesNotMatch(await metrics.metrics(), /fleetsearch_cache_objects\{/)
})

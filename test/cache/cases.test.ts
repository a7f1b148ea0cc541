/** Public bug reports, replayed against the cache. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { CachedObject } from '../../src/cache/reader.ts'
import { settle } from '../support/fake-clock.ts'
import { versionsText, WatchClient, type Standing } from './client.ts'
import { cluster, list, newCache, objectsOf, pod, PODS, replace, version } from './objects.ts'

const ANNOTATIONS = { 'resource.karmada.io/cached-from-cluster': 'member1', 'cluster.karmada.io/name': 'member1' }

test('A1: three watchers see one event with one version, encoded once, and the cached object keeps its own', async () => {
  const { pods, open } = newCache()
  const member1 = open('member1')
  replace(member1, [pod({ name: 'p' }, 90)], 100)
  replace(open('member2'), [], 200)
  const clients = [1, 2, 3].map(() => new WatchClient(pods))
  await settle()
  member1.apply('MODIFIED', pod({ name: 'p', padding: 'new' }, 101))
  await settle()
  for (const client of clients) {
    const item = client.items.at(-1)
    assert.ok(item?.type === 'EVENT')
    assert.equal(versionsText(item.versions), '{"member1":"101","member2":"200"}')
    assert.equal(item.event.object.resourceVersion, '101')
  }
  const cached = pods.get(cluster('member1'), 'default', 'p')
  assert.deepEqual(parsed(cached), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'p',
      namespace: 'default',
      uid: 'uid-default-p',
      resourceVersion: '101',
      annotations: ANNOTATIONS,
    },
    spec: { padding: 'new' },
  })
  await Promise.all(clients.map((client) => client.stop()))
})

test('B1: a cluster that joins, or comes back with changes, arrives in a watch that is open', async () => {
  const { pods, open } = newCache()
  const member1 = open('member1')
  const member2 = open('member2')
  replace(member1, [pod({ name: 'p1' }, 1)], 100)
  replace(member2, [pod({ name: 'p2' }, 1)], 200)
  const client = new WatchClient(pods)
  await settle()
  client.take()
  member2.report({ phase: 'failing', code: 'refused', message: 'connection refused' })
  await settle()
  assert.deepEqual([client.take(), list(pods).length], [[], 2])
  replace(member2, [pod({ name: 'p3' }, 205)], 206)
  member2.report({ phase: 'watching' })
  const member3 = open('member3')
  replace(member3, [pod({ name: 'p4' }, 7), pod({ name: 'p5' }, 8)], 10)
  member3.apply('DELETED', pod({ name: 'p5' }, 11))
  await settle()
  assert.deepEqual([...client.view.keys()].sort(), ['member1/default/p1', 'member2/default/p3', 'member3/default/p4'])
  assert.equal(client.expired, undefined)
  const last = client.standings.at(-1) as Standing
  assert.equal(versionsText(last.versions), '{"member1":"100","member2":"206","member3":"11"}')
  await client.stop()
})

test('B4: a registered resource answers without any cluster, and its watch stays open until one returns', async () => {
  const { pods, open } = newCache()
  assert.equal(versionsText(pods.versions()), '{}')
  assert.equal(pods.snapshot({}).length, 0)
  const client = new WatchClient(pods)
  await settle()
  replace(open('member1'), [pod({ name: 'p' }, 1)], 100)
  await settle()
  assert.deepEqual(client.take(), ['INITIAL_END', 'INITIAL member1/default/p'])
  await client.stop()
})

test('C3: namespaces narrow at once and widen with the next list; a watch of one that stays is not disturbed', async () => {
  const { pods, open } = newCache()
  const all = ['ns1', 'ns1-x', 'ns2', 'ns3'].map((namespace) => pod({ namespace, name: 'p' }, 5))
  const writer = open('member1', { namespaces: new Set(['ns1', 'ns2']) })
  replace(writer, all, 100)
  assert.deepEqual(list(pods), ['member1/ns1/p@5', 'member1/ns2/p@5'])
  assert.deepEqual(pods.shards()[0]?.namespaces, new Set(['ns1', 'ns2']))
  const inNs1 = new WatchClient(pods, { namespace: 'ns1' })
  const everywhere = new WatchClient(pods)
  await settle()
  inNs1.take()
  everywhere.take()

  writer.setNamespaces(undefined)
  replace(writer, all, 101)
  assert.equal(list(pods).length, 4)
  writer.setNamespaces(new Set(['ns1']))
  assert.deepEqual(list(pods), ['member1/ns1/p@5'])
  assert.equal(pods.get(cluster('member1'), 'ns2', 'p'), undefined)
  writer.apply('MODIFIED', pod({ namespace: 'ns2', name: 'p' }, 102))
  writer.apply('MODIFIED', pod({ namespace: 'ns1', name: 'p' }, 103))
  await settle()
  assert.deepEqual(inNs1.take(), ['MODIFIED member1/ns1/p'])
  assert.deepEqual(everywhere.take(), [
    'ADDED member1/ns1-x/p',
    'ADDED member1/ns3/p',
    'DELETED member1/ns1-x/p',
    'DELETED member1/ns2/p',
    'DELETED member1/ns3/p',
    'MODIFIED member1/ns1/p',
  ])
  await Promise.all([inNs1, everywhere].map((client) => client.stop()))
})

test('C4: a cluster under the name of another: only its own objects, and old versions expire without waiting', async () => {
  const { pods, open, clock } = newCache()
  const old = open('member1', { clusterUid: 'u1' })
  replace(old, [pod({ name: 'old' }, 90)], 100)
  const client = new WatchClient(pods)
  await settle()
  const standing = client.standings.at(-1) as Standing

  const fresh = open('member1', { clusterUid: 'u2' })
  assert.deepEqual([list(pods), versionsText(pods.versions())], [[], '{}'])
  await settle()
  assert.equal(client.expired !== undefined, true)
  replace(fresh, [pod({ name: 'new' }, 4)], 5)
  // What the old reflector still has to say goes nowhere.
  old.apply('ADDED', pod({ name: 'ghost' }, 101))
  replace(old, [pod({ name: 'ghost' }, 101)], 102)
  old.setNamespaces(new Set())
  old.drop()
  assert.deepEqual(list(pods), ['member1/default/new@4'])

  const before = clock.monotonicMs()
  const resumed = new WatchClient(pods, { from: standing.versions })
  await settle()
  assert.deepEqual([resumed.take(), clock.monotonicMs()], [['EXPIRED'], before])
  // Also once the new cluster has counted past the old version.
  for (const at of [99, 101, 150]) fresh.apply('MODIFIED', pod({ name: 'new' }, at))
  const late = new WatchClient(pods, { from: standing.versions })
  const own = new WatchClient(pods, { from: new Map([[cluster('member1'), version(99)]]) })
  await settle()
  assert.deepEqual(late.take(), ['EXPIRED'])
  assert.deepEqual(own.take(), ['INITIAL_END', 'MODIFIED member1/default/new', 'MODIFIED member1/default/new'])
  await own.stop()
})

test('C4: the same cluster with its history lost: watchers converge, older versions expire', async () => {
  const { pods, open } = newCache()
  const writer = open('member1')
  replace(writer, [pod({ name: 'old' }, 90), pod({ name: 'both' }, 91)], 100)
  const client = new WatchClient(pods)
  await settle()
  const standing = client.standings.at(-1) as Standing
  replace(writer, [pod({ name: 'both', uid: 'again' }, 3), pod({ name: 'new' }, 4)], 5)
  await settle()
  assert.deepEqual([...client.view.keys()].sort(), ['member1/default/both', 'member1/default/new'])
  const now = client.standings.at(-1) as Standing
  assert.equal(versionsText(now.versions), '{"member1":"5"}')
  const [resumed, again] = [standing, now].map(({ versions }) => new WatchClient(pods, { from: versions }))
  await settle()
  assert.deepEqual([resumed?.take(), again?.take()], [['EXPIRED'], ['INITIAL_END']])
  // Versions of bookmarks count, though they are below where the lost history ended.
  writer.bookmark(version(7))
  writer.apply('ADDED', pod({ name: 'newer' }, 9))
  const fromBookmark = new WatchClient(pods, { from: new Map([[cluster('member1'), version(7)]]) })
  await settle()
  assert.deepEqual(fromBookmark.take(), ['INITIAL_END', 'ADDED member1/default/newer'])
  await Promise.all([client, again, fromBookmark].map((each) => each?.stop()))
})

test('C8: objects without annotations, or with that annotation already; what is handed out never changes', async () => {
  const { pods, open } = newCache()
  const writer = open('member1')
  const bare = Buffer.from('{"metadata":{"name":"bare","namespace":"default","uid":"u","resourceVersion":"5"}}')
  const marked = Buffer.from(
    '{"metadata":{"name":"marked","namespace":"default","uid":"v","resourceVersion":"6","annotations":{' +
      '"resource.karmada.io/cached-from-cluster":"elsewhere","other":"kept"}}}',
  )
  replace(writer, [bare, marked], 10)
  const snapshot = pods.snapshot({})
  const copies = [...objectsOf(snapshot)].map(({ bytes }) => String(bytes))
  // Readers in parallel with events, enough of them to move the shard's memory about.
  const reads = Array.from({ length: 100 }, async (_, i) => {
    await new Promise<void>((resolve) => setImmediate(resolve))
    return [i, pods.get(cluster('member1'), 'default', 'bare')] as const
  })
  for (let i = 0; i < 2_000; i++)
    writer.apply('MODIFIED', pod({ name: `n${i % 50}`, padding: 'y'.repeat(900) }, 11 + i))
  for (const [, object] of await Promise.all(reads)) {
    assert.deepEqual(parsed(object), {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'bare', namespace: 'default', uid: 'u', resourceVersion: '5', annotations: ANNOTATIONS },
    })
  }
  assert.deepEqual(
    [...objectsOf(snapshot)].map(({ bytes }) => String(bytes)),
    copies,
  )
  const annotations = (
    parsed(pods.get(cluster('member1'), 'default', 'marked')) as { metadata: { annotations: object } }
  ).metadata.annotations
  assert.deepEqual(annotations, { ...ANNOTATIONS, other: 'kept' })
})

test('the bytes that a member sent are copied: its buffer may be used again', () => {
  const { pods, open } = newCache()
  const writer = open('member1')
  const buffer = pod({ name: 'a' }, 5)
  const replacement = writer.beginReplace()
  replacement.add(buffer)
  buffer.fill(0)
  replacement.commit(version(10))
  assert.deepEqual(list(pods), ['member1/default/a@5'])
  assert.equal(PODS.resource, 'pods')
})

function parsed(object: CachedObject | undefined): unknown {
  return JSON.parse(String(object?.bytes))
}

/** What one shard makes of lists and events. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { CacheListener } from '../../src/cache/reader.ts'
import { ReflectorError } from '../../src/informer/reflector-error.ts'
import { MalformedObjectError } from '../../src/kube/malformed-error.ts'
import { settle } from '../support/fake-clock.ts'
import { versionsText, WatchClient } from './client.ts'
import { cluster, list, newCache, objectsOf, pod, replace, version, type TestCache } from './objects.ts'

/** A shard with pods `a` at 5 and `b` at 6, listed at 10, and a watcher that has seen them. */
async function started(): Promise<TestCache & { writer: ReturnType<TestCache['open']>; client: WatchClient }> {
  const context = newCache()
  const writer = context.open('m1')
  replace(writer, [pod({ name: 'a' }, 5), pod({ name: 'b' }, 6)], 10)
  const client = new WatchClient(context.pods)
  await settle()
  assert.deepEqual(client.take(), ['INITIAL m1/default/a', 'INITIAL m1/default/b', 'INITIAL_END'])
  return { ...context, writer, client }
}

test('a list is invisible until it is committed, and leaves no trace when it is discarded', async () => {
  const { pods, writer, client } = await started()
  const before = pods.shards()[0]?.bytes
  const discarded = writer.beginReplace()
  discarded.add(pod({ name: 'c' }, 11))
  assert.deepEqual(list(pods), ['m1/default/a@5', 'm1/default/b@6'])
  discarded.discard()
  assert.equal(pods.shards()[0]?.bytes, before)

  const committed = writer.beginReplace()
  committed.add(pod({ name: 'c' }, 11))
  committed.add(pod({ name: 'a' }, 5))
  committed.add(pod({ name: 'b' }, 12))
  committed.commit(version(20))
  assert.deepEqual(list(pods), ['m1/default/a@5', 'm1/default/b@12', 'm1/default/c@11'])
  await settle()
  assert.deepEqual(client.take(), ['MODIFIED m1/default/b', 'ADDED m1/default/c'])
  await client.stop()
})

test('G3: a list or events without a change tell nobody anything', async () => {
  const { clock, pods, writer, client } = await started()
  replace(writer, [pod({ name: 'b' }, 6), pod({ name: 'a' }, 5)], 10)
  assert.equal(writer.apply('ADDED', pod({ name: 'a' }, 5)), '10')
  writer.apply('MODIFIED', pod({ name: 'b', labels: { older: 'yes' } }, 4))
  writer.apply('DELETED', pod({ name: 'c' }, 9))
  await clock.advance(2_000)
  assert.deepEqual(client.take(), [])
  assert.deepEqual(list(pods), ['m1/default/a@5', 'm1/default/b@6'])
  await client.stop()
})

test('an object created anew under its name is a deletion and an addition', async () => {
  const { writer, client } = await started()
  writer.apply('MODIFIED', pod({ name: 'a', uid: 'another' }, 11))
  replace(writer, [pod({ name: 'a', uid: 'another' }, 11), pod({ name: 'b', uid: 'third' }, 12)], 13)
  await settle()
  const uids = client.items.map((item) => item.type === 'EVENT' && [item.event.type, item.event.object.uid])
  assert.deepEqual(uids, [
    ['DELETED', 'uid-default-a'],
    ['ADDED', 'another'],
    ['DELETED', 'uid-default-b'],
    ['ADDED', 'third'],
  ])
  await client.stop()
})

test('a deletion carries the last state, the one noticed by a list too', async () => {
  const { writer, client } = await started()
  writer.apply('DELETED', pod({ name: 'a' }, 11))
  replace(writer, [], 20)
  await settle()
  const told = client.items.map((item) => item.type === 'EVENT' && [item.event.object, item.event.previous])
  assert.deepEqual(
    told.map((pair) => pair && pair.map((object) => object && `${object.name}@${object.resourceVersion}`)),
    [
      ['a@11', 'a@5'],
      ['b@6', 'b@6'],
    ],
  )
  await client.stop()
})

test('a deletion of an older object of that name is not one of the present object', async () => {
  const { pods, writer } = await started()
  writer.apply('MODIFIED', pod({ name: 'a', uid: 'new' }, 15))
  writer.apply('DELETED', pod({ name: 'a', uid: 'old' }, 14))
  assert.deepEqual(list(pods), ['m1/default/a@15', 'm1/default/b@6'])
  writer.apply('DELETED', pod({ name: 'a', uid: 'new' }, 15))
  // Some servers send the last state but one.
  writer.apply('DELETED', pod({ name: 'b' }, 3))
  assert.deepEqual(list(pods), [])
})

test('an event keeps no more memory alive than its objects', async () => {
  const { writer, client } = await started()
  const padding = 'x'.repeat(200_000)
  replace(writer, [pod({ name: 'a', padding }, 10), pod({ name: 'b', padding }, 10)], 10)
  writer.apply('MODIFIED', pod({ name: 'a', padding }, 11))
  replace(writer, [pod({ name: 'a', padding }, 12)], 20)
  await settle()
  for (const item of client.items) {
    assert.ok(item.type === 'EVENT')
    for (const object of [item.event.object, item.event.previous]) {
      const { buffer, byteLength } = object?.bytes ?? new Uint8Array()
      // Small buffers share a pool.
      assert.ok(buffer.byteLength === byteLength || byteLength < Buffer.poolSize / 2, String(buffer.byteLength))
    }
  }
  await client.stop()
})

test('a shard opened again for the same cluster keeps its objects, and only the new writer writes', async () => {
  const { pods, open, writer: old, client } = await started()
  const abandoned = old.beginReplace()
  abandoned.add(pod({ name: 'ghost' }, 99))
  const writer = open('m1', { namespaces: new Set(['default']) })
  abandoned.add(pod({ name: 'ghost2' }, 99))
  abandoned.commit(version(99))
  old.apply('ADDED', pod({ name: 'ghost' }, 99))
  replace(old, [], 99)
  old.bookmark(version(99))
  old.setNamespaces(new Set())
  old.report({ phase: 'failing', code: 'stopped', message: '' })
  old.drop()
  assert.deepEqual(list(pods), ['m1/default/a@5', 'm1/default/b@6'])
  assert.deepEqual([pods.shards()[0]?.version, pods.shards()[0]?.reflector.phase], ['10', 'listing'])
  writer.apply('ADDED', pod({ name: 'c' }, 11))
  await settle()
  assert.deepEqual(client.take(), ['ADDED m1/default/c'])
  await client.stop()
})

test('within a list the version moves with the last difference only', async () => {
  const { writer, client } = await started()
  replace(writer, [pod({ name: 'b' }, 16), pod({ name: 'c' }, 17)], 20)
  await settle()
  const versions = client.items.map((item) => item.type !== 'EXPIRED' && versionsText(item.versions))
  assert.deepEqual(versions, ['{"m1":"10"}', '{"m1":"10"}', '{"m1":"20"}'])
  await client.stop()
})

test('an object twice in one list counts once, as it came last, and costs once', () => {
  const { pods, open } = newCache()
  const writer = open('m1')
  replace(writer, [pod({ name: 'a' }, 5), pod({ name: 'b' }, 6), pod({ name: 'a', padding: 'x' }, 7)], 10)
  assert.deepEqual(list(pods), ['m1/default/a@7', 'm1/default/b@6'])
  const sum = [...objectsOf(pods.snapshot({}))].reduce((total, { bytes }) => total + bytes.length, 0)
  assert.equal(pods.shards()[0]?.bytes, sum)
})

test('a list that another list or an event has overtaken cannot be committed', () => {
  const { pods, open } = newCache()
  const writer = open('m1')
  const overtaken = writer.beginReplace()
  overtaken.add(pod({ name: 'stale' }, 1))
  replace(writer, [pod({ name: 'a' }, 5)], 10)
  assert.throws(() => overtaken.commit(version(11)), /superseded/)
  const second = writer.beginReplace()
  writer.apply('ADDED', pod({ name: 'b' }, 12))
  assert.throws(() => second.add(pod({ name: 'c' }, 1)), /superseded/)
  assert.deepEqual(list(pods), ['m1/default/a@5', 'm1/default/b@12'])
})

test('what is no object is refused and changes nothing', async () => {
  const { pods, writer, client } = await started()
  assert.throws(() => writer.apply('ADDED', Buffer.from('{"metadata":{"name":"x"')), MalformedObjectError)
  const replacement = writer.beginReplace()
  assert.throws(() => replacement.add(Buffer.from('[]')), MalformedObjectError)
  replacement.discard()
  await settle()
  assert.deepEqual(client.take(), [])
  assert.equal(pods.shards()[0]?.version, '10')
  await client.stop()
})

test('objects without a version, or with one that has no order, are compared by their bytes', () => {
  const { pods, open } = newCache()
  const writer = open('m1')
  replace(writer, [pod({ name: 'a' }, '')], 'opaque-1')
  writer.apply('MODIFIED', pod({ name: 'a', padding: 'new' }, ''))
  writer.apply('ADDED', pod({ name: 'b' }, 'zz'))
  writer.apply('MODIFIED', pod({ name: 'b', padding: 'new' }, 'aa'))
  assert.deepEqual(list(pods), ['m1/default/a@', 'm1/default/b@aa'])
  assert.match(String(pods.get(cluster('m1'), 'default', 'a')?.bytes), /"padding":"new"/)
})

test('one reflector for each namespace: the shard is there when all have listed, at the version they say', async () => {
  const { pods, open } = newCache()
  const writer = open('m1', { namespaces: new Set(['a', 'b']) })
  const client = new WatchClient(pods)
  const listNamespace = (namespace: string, names: string[], at: number): void => {
    const replacement = writer.beginNamespaceReplace(namespace)
    for (const name of names) replacement.add(pod({ namespace, name }, at))
    replacement.add(pod({ namespace: 'other', name: 'stray' }, at))
    replacement.commit(version(at))
  }
  listNamespace('a', ['p', 'q'], 30)
  writer.applyAt('ADDED', pod({ namespace: 'a', name: 'r' }, 33), version(30))
  assert.deepEqual([list(pods), pods.shards()[0]?.synced], [[], false])
  listNamespace('b', ['p'], 20)
  assert.deepEqual(list(pods), ['m1/a/p@30', 'm1/a/q@30', 'm1/a/r@33', 'm1/b/p@20'])
  assert.equal(pods.shards()[0]?.version, '20')
  await settle()
  client.take()
  // Events of different namespaces do not come in the order of their versions.
  writer.applyAt('MODIFIED', pod({ namespace: 'a', name: 'p' }, 40), version(25))
  writer.applyAt('MODIFIED', pod({ namespace: 'b', name: 'p' }, 26), version(26))
  const meanwhile = writer.beginNamespaceReplace('b')
  writer.applyAt('DELETED', pod({ namespace: 'a', name: 'q' }, 41), version(26))
  meanwhile.commit(version(41))
  assert.deepEqual(list(pods), ['m1/a/p@40', 'm1/a/r@33'])
  await settle()
  assert.deepEqual(client.take(), ['MODIFIED m1/a/p', 'MODIFIED m1/b/p', 'DELETED m1/a/q', 'DELETED m1/b/p'])
  await client.stop()
})

test('listeners hear each difference, then that the shard was listed; nothing of the first list but that', () => {
  const heard: string[] = []
  const listener: CacheListener = {
    changed: (_, name, namespace, object, uid, deleted) =>
      heard.push(`${deleted ? 'deleted' : 'changed'} ${name}/${namespace}/${object} ${uid}`),
    synced: (_, name) => heard.push(`synced ${name}`),
    dropped: (_, name) => heard.push(`dropped ${name}`),
  }
  const { cache, open } = newCache()
  const stop = cache.onChange(listener)
  const writer = open('m1')
  replace(writer, [pod({ name: 'a' }, 1)], 1)
  writer.apply('ADDED', pod({ name: 'b' }, 2))
  replace(writer, [pod({ name: 'b', uid: 'other' }, 3)], 3)
  writer.drop()
  stop()
  replace(open('m1'), [], 4)
  assert.deepEqual(heard, [
    'synced m1',
    'changed m1/default/b uid-default-b',
    'deleted m1/default/a uid-default-a',
    'deleted m1/default/b uid-default-b',
    'changed m1/default/b other',
    'synced m1',
    'dropped m1',
  ])
})

test('freshness: what the reflector reports, and when the member was heard last', () => {
  const { clock, pods, open } = newCache()
  const writer = open('m1')
  assert.deepEqual(pods.shards()[0]?.reflector, { phase: 'listing' })
  assert.equal(pods.shards()[0]?.heardAtMs, undefined)
  clock.tick(1_000)
  replace(writer, [pod({ name: 'a' }, 1)], 1)
  clock.tick(1_000)
  writer.report({ phase: 'failing', code: 'timeout', message: 'no answer' })
  assert.equal(pods.shards()[0]?.heardAtMs, 1_000)
  assert.equal(pods.shards()[0]?.reflector.phase, 'failing')
  writer.report({ phase: 'watching' })
  assert.equal(pods.shards()[0]?.heardAtMs, 2_000)
  clock.tick(1_000)
  writer.bookmark(version(5))
  const state = pods.shards()[0]
  assert.deepEqual([state?.heardAtMs, state?.version, state?.objects], [3_000, '5', 1])
})

test('beyond the bound nothing is kept and nothing is cut: a list, an event, a namespace at a time', () => {
  const { pods, open } = newCache({ maxObjects: 3 })
  const tooMany = (error: unknown): boolean => error instanceof ReflectorError && error.code === 'tooMany'
  const writer = open('m1')
  const three = ['a', 'b', 'c'].map((name) => pod({ name }, 5))
  const long = writer.beginReplace()
  for (const object of three) long.add(object)
  assert.throws(() => long.add(pod({ name: 'd' }, 5)), tooMany)
  long.discard()
  assert.equal(pods.shards()[0]?.synced, false)

  replace(writer, three, 10)
  const before = list(pods)
  assert.throws(() => writer.apply('ADDED', pod({ name: 'd' }, 11)), tooMany)
  assert.deepEqual(list(pods), before)
  writer.apply('MODIFIED', pod({ name: 'a' }, 12))
  writer.apply('DELETED', pod({ name: 'b' }, 13))
  writer.apply('ADDED', pod({ name: 'd' }, 14))
  replace(writer, three, 20) // a list again is no growth
  assert.equal(list(pods).length, 3)

  const parts = open('m2', { namespaces: new Set(['x', 'y']) })
  const [x, y] = [parts.beginNamespaceReplace('x'), parts.beginNamespaceReplace('y')]
  x.add(pod({ namespace: 'x', name: 'a' }, 5))
  x.add(pod({ namespace: 'x', name: 'b' }, 5))
  y.add(pod({ namespace: 'y', name: 'a' }, 5))
  assert.throws(() => y.add(pod({ namespace: 'y', name: 'b' }, 5)), tooMany)
  x.commit(version(10))
  y.commit(version(10))
  const again = parts.beginNamespaceReplace('x')
  for (const name of ['a', 'c']) again.add(pod({ namespace: 'x', name }, 11))
  again.commit(version(12))
  assert.deepEqual(
    list(pods).filter((name) => name.startsWith('m2')),
    ['m2/x/a@11', 'm2/x/c@11', 'm2/y/a@5'],
  )
})

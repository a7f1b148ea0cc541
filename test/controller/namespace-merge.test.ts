import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FeedGate } from '../../src/controller/feed-gate.ts'
import { NamespaceMerge } from '../../src/controller/namespace-merge.ts'
import type { ReflectorState, ReflectorStore } from '../../src/informer/reflector-store.ts'
import { MalformedObjectError } from '../../src/kube/malformed-error.ts'
import type { ResourceVersion } from '../../src/kube/names.ts'
import type { ResourceReader } from '../../src/cache/reader.ts'
import { list as shown, newCache, pod } from '../cache/objects.ts'

const version = (text: string): ResourceVersion => text as ResourceVersion

/** Writes down what a shard is told. */
class Recorder {
  readonly told: string[] = []
  readonly states: ReflectorState[] = []
  readonly gate = new FeedGate(this.#target(), {
    reported: (state) => this.states.push(state),
    listed: () => undefined,
  })

  #target(): ConstructorParameters<typeof FeedGate>[0] {
    const { told } = this
    const replacement = (scope: string): ReturnType<ReflectorStore['beginReplace']> => {
      const names: string[] = []
      return {
        add: (object) => names.push(nameOf(object)),
        commit: (at) => told.push(`replace ${scope} [${names.join()}] @${at}`),
        discard: () => told.push(`discard ${scope}`),
      }
    }
    return {
      beginReplace: () => replacement('all'),
      beginNamespaceReplace: replacement,
      apply: (type, object) => {
        told.push(`${type} ${nameOf(object)}`)
        return version('0')
      },
      applyAt: (type, object, at) => told.push(`${type} ${nameOf(object)} @${at}`),
      bookmark: (at) => told.push(`bookmark @${at}`),
      report: () => undefined,
    }
  }
}

const object = (name: string, at: number): Uint8Array =>
  Buffer.from(JSON.stringify({ metadata: { name, resourceVersion: `${at}` } }))
const nameOf = (bytes: Uint8Array): string =>
  (JSON.parse(Buffer.from(bytes).toString()) as { metadata: { name: string } }).metadata.name

function merge(...namespaces: string[]): ReturnType<typeof mergeInto> {
  return mergeInto(true, namespaces)
}

function mergeInto(
  isFirst: boolean,
  namespaces: string[],
): { recorder: Recorder; part: (namespace: string) => ReflectorStore } {
  const recorder = new Recorder()
  const stores = new Map(
    new NamespaceMerge(recorder.gate, namespaces, isFirst).stores().map(({ namespace, store }) => [namespace, store]),
  )
  return { recorder, part: (namespace) => stores.get(namespace) ?? assert.fail() }
}

function list(store: ReflectorStore, at: number, ...names: string[]): void {
  const replacement = store.beginReplace()
  names.forEach((name) => replacement.add(object(name, 1)))
  replacement.commit(version(`${at}`))
}

test('nothing is shown until every namespace is there; then all at once, and what came meanwhile', () => {
  const { recorder, part } = merge('a', 'b')
  list(part('a'), 20, 'x')
  assert.equal(part('a').apply('ADDED', object('x2', 25)), '25')
  assert.deepEqual(recorder.told, [])
  list(part('b'), 22, 'y')
  assert.deepEqual(recorder.told, ['replace a [x] @20', 'replace b [y] @20', 'ADDED x2 @20', 'bookmark @22'])
})

test('the smallest version counts, and each part resumes from its own', () => {
  const { recorder, part } = merge('a', 'b')
  list(part('a'), 20)
  list(part('b'), 30)
  recorder.told.length = 0
  assert.equal(part('b').apply('MODIFIED', object('y', 40)), '40')
  assert.equal(part('a').apply('ADDED', object('x', 35)), '35')
  part('b').bookmark(version('50'))
  part('a').bookmark(version('45'))
  assert.deepEqual(recorder.told, ['MODIFIED y @20', 'ADDED x @35', 'bookmark @45'])
})

test('versions are compared as numbers of any length', () => {
  const { recorder, part } = merge('a', 'b')
  list(part('a'), 9)
  part('b').beginReplace().commit(version('100000000000000000000001'))
  assert.deepEqual(recorder.told.at(-1), 'replace b [] @9')
})

test('a part that is forbidden too counts as empty; listed later, it swaps its own objects alone', () => {
  const { recorder, part } = merge('a', 'b')
  list(part('a'), 20, 'x')
  part('b').report({ phase: 'failing', code: 'refused', message: 'down' })
  assert.deepEqual(recorder.told, [], 'what is retried soon is waited for')
  part('b').report({ phase: 'failing', code: 'forbidden', message: 'no' })
  assert.deepEqual(recorder.told, ['replace a [x] @20', 'replace b [] @20'])
  assert.deepEqual(recorder.states.at(-1), { phase: 'failing', code: 'forbidden', message: 'namespace b: no' })
  list(part('b'), 60, 'y')
  assert.deepEqual(recorder.told.slice(2), ['replace b [y] @20'])
})

test('in a shard that has been listed, what is shown of a forbidden part stays', () => {
  const { recorder, part } = mergeInto(false, ['a', 'b'])
  list(part('a'), 20, 'x')
  part('b').report({ phase: 'failing', code: 'forbidden', message: 'no' })
  assert.deepEqual(recorder.told, ['replace a [x] @20'])
})

test('a part listed again before the others are there counts once', () => {
  const { recorder, part } = merge('a', 'b')
  list(part('a'), 20, 'old')
  part('a').apply('ADDED', object('held', 21))
  list(part('a'), 30, 'new')
  list(part('b'), 25, 'y')
  assert.deepEqual(recorder.told, ['discard a', 'replace a [new] @25', 'replace b [y] @25'])
})

test('events that wait are bounded: then those that are ready are shown', () => {
  const { recorder, part } = merge('a', 'b')
  list(part('a'), 20)
  for (let i = 0; i < 1_001; i++) part('a').apply('ADDED', object(`p${i}`, 21 + i))
  assert.equal(recorder.told.length, 1 + 1_001 + 1)
})

test('held bytes are copies: what the reader reuses does not reach the shard', () => {
  const { recorder, part } = merge('a', 'b')
  list(part('a'), 20)
  const bytes = Uint8Array.from(object('kept', 21))
  part('a').apply('ADDED', bytes)
  bytes.fill(0)
  list(part('b'), 20)
  assert.ok(recorder.told.includes('ADDED kept @20'))
})

test('a closed gate lets nothing through and discards what is under way', () => {
  const { gate, told, states } = new Recorder()
  const replacement = gate.beginReplace()
  gate.apply('ADDED', object('x', 1))
  gate.close()
  replacement.add(object('y', 2))
  replacement.commit(version('5'))
  replacement.discard()
  gate.beginReplace().commit(version('6'))
  gate.beginNamespaceReplace('a').commit(version('6'))
  gate.apply('ADDED', object('z', 3))
  gate.applyAt('ADDED', object('z', 3), version('3'))
  gate.bookmark(version('9'))
  gate.report({ phase: 'watching' })
  assert.deepEqual(told, ['ADDED x', 'discard all'])
  assert.deepEqual(states, [])
})

/** The same over a real shard, which lets nobody go on with a list that another one took the place of. */
function mergeIntoShard(...namespaces: string[]): {
  pods: ResourceReader
  part: (namespace: string) => ReflectorStore
} {
  const { open, pods } = newCache()
  const gate = new FeedGate(open('m', { namespaces: new Set(namespaces) }), {
    reported: () => undefined,
    listed: () => undefined,
  })
  const stores = new NamespaceMerge(gate, namespaces, true).stores()
  return { pods, part: (name) => stores.find(({ namespace }) => namespace === name)?.store ?? assert.fail() }
}

function listPods(store: ReflectorStore, at: number, ...objects: Uint8Array[]): void {
  const replacement = store.beginReplace()
  objects.forEach((bytes) => replacement.add(bytes))
  replacement.commit(version(`${at}`))
}

test('a part whose second list is under way when the last of the others comes is waited for', () => {
  const { pods, part } = mergeIntoShard('a', 'b')
  listPods(part('a'), 20, pod({ namespace: 'a', name: 'old' }, 20))
  part('a').apply('ADDED', pod({ namespace: 'a', name: 'held' }, 21))
  const again = part('a').beginReplace() // its watch was answered with 410
  listPods(part('b'), 25, pod({ namespace: 'b', name: 'y' }, 25))
  assert.deepEqual(shown(pods), [])
  again.add(pod({ namespace: 'a', name: 'new' }, 30))
  again.commit(version('30'))
  assert.deepEqual(shown(pods), ['m/a/new@30', 'm/b/y@25'])
})

test('an object of another namespace than the one asked for is refused, and disturbs no list of that namespace', () => {
  const { pods, part } = mergeIntoShard('a', 'b')
  listPods(part('a'), 20)
  listPods(part('b'), 25, pod({ namespace: 'b', name: 'y' }, 25))
  const again = part('b').beginReplace()
  assert.throws(() => part('a').apply('ADDED', pod({ namespace: 'b', name: 'forged' }, 26)), MalformedObjectError)
  again.add(pod({ namespace: 'b', name: 'y2' }, 30))
  again.commit(version('30'))
  assert.deepEqual(shown(pods), ['m/b/y2@30'])
})

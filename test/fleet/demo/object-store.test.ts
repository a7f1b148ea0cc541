import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { builtinType } from '../../../src/fleet/demo/builtin-types.ts'
import { editable, ObjectStore, type StoreEvent } from '../../../src/fleet/demo/object-store.ts'
import type { NewObject } from '../../../src/fleet/demo/stored-object.ts'
import { isStatusError } from '../../../src/kube/status-error.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** Not in the library's types yet. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown }

const POD = builtinType('Pod')
const CONFIG_MAP = builtinType('ConfigMap')

function newStore(historyLimit = 1_000): ObjectStore {
  let uids = 0
  const store = new ObjectStore({
    clock: new FakeClock(),
    newUid: () => `uid-${++uids}`,
    startVersion: 10,
    historyLimit,
  })
  store.register(POD, CONFIG_MAP)
  return store
}

function pod(name: string, spec: object = {}, status: object = {}): NewObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'shop' }, spec, status }
}

test('a write fills in what an API server fills in, and counts versions over all resources', () => {
  const store = newStore()
  const first = store.put(pod('a'))
  const second = store.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c', namespace: 'shop' },
    data: {},
  })
  assert.deepEqual(first.metadata, {
    name: 'a',
    namespace: 'shop',
    uid: 'uid-1',
    resourceVersion: '11',
    generation: 1,
    creationTimestamp: '2026-11-30T00:00:00Z',
  })
  assert.equal(second.metadata.resourceVersion, '12')
  assert.equal('generation' in second.metadata, false)
  assert.equal(store.version, 12)
})

test('the generation counts changes of the spec; a write that changes nothing makes no event', () => {
  const store = newStore()
  const events: StoreEvent[] = []
  store.put(pod('a', { x: 1 }))
  store.subscribe(POD, (event) => events.push(event))
  store.put(pod('a', { x: 1 }, { phase: 'Running' }))
  store.put(pod('a', { x: 1 }, { phase: 'Running' }))
  const last = store.put(pod('a', { x: 2 }, { phase: 'Running' }))
  assert.deepEqual(
    events.map(({ type, version, object }) => [type, version, object.metadata['generation']]),
    [
      ['MODIFIED', 12, 1],
      ['MODIFIED', 13, 2],
    ],
  )
  assert.equal(store.put(editable(last)), last)
})

test('a deletion carries the last state under a version of its own', () => {
  const store = newStore()
  store.put(pod('a', {}, { phase: 'Running' }))
  const gone = store.delete(POD, 'shop', 'a')
  assert.equal(gone?.metadata.resourceVersion, '12')
  assert.deepEqual(gone.value['status'], { phase: 'Running' })
  assert.equal(store.delete(POD, 'shop', 'a'), undefined)
  assert.equal(store.version, 12)
})

test('built-in list items leave kind and apiVersion out, documents put them first, raw numbers stay', () => {
  const store = newStore()
  const object = store.put(pod('a', { big: rawJson('9007199254740993') }))
  assert.match(object.item(POD), /^\{"metadata":\{"name":"a"/)
  assert.match(object.document(POD), /^\{"kind":"Pod","apiVersion":"v1","metadata":/)
  assert.match(object.item(POD), /"big":9007199254740993\}/)
})

test('a history that was cut, or compacted, answers 410', () => {
  const store = newStore(2)
  for (const name of ['a', 'b', 'c']) store.put(pod(name))
  assert.deepEqual(
    store.eventsSince(POD, 11).map((event) => event.version),
    [12, 13],
  )
  assert.throws(
    () => store.eventsSince(POD, 10),
    (error) => isStatusError(error, 'expired'),
  )
  store.compact()
  assert.throws(
    () => store.eventsSince(POD, 12),
    (error) => isStatusError(error, 'expired'),
  )
  assert.deepEqual(store.eventsSince(POD, 13), [])
})

test('a list at any version of the history equals the list of that time', () => {
  const change = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), remove: fc.boolean(), value: fc.nat(3) })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const store = newStore()
      const lists = new Map([[store.version, [] as string[]]])
      for (const { name, remove, value } of changes) {
        if (remove) store.delete(POD, 'shop', name)
        else store.put(pod(name, { value }))
        lists.set(
          store.version,
          store.list(POD).map((object) => object.document(POD)),
        )
      }
      for (const [version, expected] of lists) {
        assert.deepEqual(
          store.listAt(POD, version).map((object) => object.document(POD)),
          expected,
        )
      }
    }),
  )
})

test('a type that goes takes its objects along, one deletion each', () => {
  const store = newStore()
  const events: string[] = []
  store.put(pod('a'))
  store.subscribe(POD, ({ type, object }) => events.push(`${type} ${object.key}`))
  store.unregister(POD)
  assert.deepEqual(events, ['DELETED shop/a'])
  assert.equal(store.type('v1/pods'), undefined)
  assert.throws(() => store.put(pod('b')), /no stored type v1 Pod/)
})

/**
 * What every `RegistryStore` must do, whatever it keeps registries in. Each store's own test calls this with how to make
 * an empty one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceRegistry } from '../../src/api/resource-registry.ts'
import type { ResourceVersion } from '../../src/kube/names.ts'
import { isStatusError } from '../../src/kube/status-error.ts'
import type { RegistryChange, RegistryEvent, RegistryStore } from '../../src/registry/registry-store.ts'
import { input } from '../registry/fixture.ts'

export interface RegistryStoreSuiteOptions {
  /** More writes than the store remembers for watches; undefined: the store is not asked to forget. */
  readonly writesUntilForgotten?: number
  /** Makes the store forget all changes up to now. */
  readonly forget?: () => Promise<void>
}

const versionOf = (registry: ResourceRegistry): ResourceVersion => registry.metadata.resourceVersion as ResourceVersion
const status = (code: Parameters<typeof isStatusError>[1]) => (error: unknown) => isStatusError(error, code)

export function registryStoreSuite(
  engine: string,
  newStore: () => Promise<RegistryStore>,
  options: RegistryStoreSuiteOptions = {},
): void {
  const withStore = (name: string, body: (store: RegistryStore) => Promise<void>): void => {
    test(`${engine}: ${name}`, async () => {
      const store = await newStore()
      try {
        await body(store)
      } finally {
        await store.close()
      }
    })
  }

  withStore('an empty store has no items and a version to watch from', async (store) => {
    const { items, version } = await store.list()
    assert.deepEqual(items, [])
    assert.match(version, /^[1-9][0-9]*$/)
    assert.equal(await store.get('a'), undefined)
  })

  withStore('create, get and list give the object back with a version', async (store) => {
    const { version: before } = await store.list()
    const created = await store.create(input('a', {}, { labels: { team: 'x' } }))
    assert.ok(BigInt(versionOf(created)) > BigInt(before))
    assert.deepEqual(created, { ...input('a', {}, { labels: { team: 'x' } }), metadata: created.metadata })
    assert.deepEqual(await store.get('a'), created)
    assert.deepEqual(await store.list(), { items: [created], version: versionOf(created) })
  })

  withStore('items are in the byte order of their names', async (store) => {
    for (const name of ['b', 'a.b', 'a-b', 'a0', 'a', 'aa']) await store.create(input(name))
    const { items } = await store.list()
    assert.deepEqual(
      items.map((item) => item.metadata.name),
      ['a', 'a-b', 'a.b', 'a0', 'aa', 'b'],
    )
  })

  withStore('a second object of one name is refused', async (store) => {
    await store.create(input('a'))
    await assert.rejects(store.create(input('a')), status('alreadyExists'))
  })

  withStore('update takes the version it was read at, once', async (store) => {
    const first = await store.create(input('a'))
    const second = await store.update({ ...first, spec: { ...first.spec, resourceSelectors: [] } }, versionOf(first))
    assert.ok(BigInt(versionOf(second)) > BigInt(versionOf(first)))
    assert.deepEqual((await store.get('a'))?.spec.resourceSelectors, [])
    await assert.rejects(store.update(first, versionOf(first)), status('conflict'))
    await assert.rejects(store.update(input('b'), versionOf(first)), status('notFound'))
    assert.deepEqual(await store.get('a'), second)
  })

  withStore('of writers at once one wins and the others conflict', async (store) => {
    const first = await store.create(input('a'))
    const writes = await Promise.allSettled(
      ['x', 'y', 'z'].map((team) =>
        store.update({ ...first, metadata: { ...first.metadata, labels: { team } } }, versionOf(first)),
      ),
    )
    assert.equal(writes.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const write of writes) if (write.status === 'rejected') assert.ok(isStatusError(write.reason, 'conflict'))
  })

  withStore('delete takes the version too, and the name is free again', async (store) => {
    const first = await store.create(input('a'))
    const second = await store.update({ ...first, status: { conditions: [] } }, versionOf(first))
    await assert.rejects(store.delete('a', versionOf(first)), status('conflict'))
    const deleted = await store.delete('a', versionOf(second))
    assert.ok(BigInt(versionOf(deleted)) > BigInt(versionOf(second)))
    assert.equal(await store.get('a'), undefined)
    assert.equal((await store.list()).version, versionOf(deleted))
    await assert.rejects(store.delete('a', versionOf(second)), status('notFound'))
    const again = await store.create(input('a'))
    assert.ok(BigInt(versionOf(again)) > BigInt(versionOf(deleted)))
  })

  withStore('what is handed out is the receiver’s to change', async (store) => {
    await store.create(input('a'))
    const read = await store.get('a')
    assert.ok(read !== undefined)
    ;(read.spec.resourceSelectors as unknown[]).length = 0
    assert.equal((await store.get('a'))?.spec.resourceSelectors.length, 1)
  })

  withStore('watch replays what came behind its version and goes on live, in order and once', async (store) => {
    const { version } = await store.list()
    const first = await store.create(input('a'))
    const abort = new AbortController()
    const events = store.watch(version, abort.signal)[Symbol.asyncIterator]()
    assert.deepEqual(await taken(events), { type: 'ADDED', object: first, previous: undefined })
    const second = await store.update({ ...first, spec: { ...first.spec, resourceSelectors: [] } }, versionOf(first))
    const gone = await store.delete('a', versionOf(second))
    assert.deepEqual(await taken(events), { type: 'MODIFIED', object: second, previous: first })
    assert.deepEqual(await taken(events), { type: 'DELETED', object: gone, previous: second })
    const next = events.next()
    abort.abort()
    assert.equal((await next).done, true)
  })

  withStore('watch from the version of a list misses and repeats nothing', async (store) => {
    await store.create(input('a'))
    const { version } = await store.list()
    const b = await store.create(input('b'))
    const abort = new AbortController()
    const events = store.watch(version, abort.signal)[Symbol.asyncIterator]()
    assert.deepEqual((await taken(events)).object, b)
    const later = events.next()
    const c = await store.create(input('c'))
    assert.deepEqual(changeOf((await later).value).object, c)
    abort.abort()
    assert.equal((await events.next()).done, true)
  })

  withStore('a watch that begins aborted ends at once', async (store) => {
    const { version } = await store.list()
    const events = store.watch(version, AbortSignal.abort())[Symbol.asyncIterator]()
    assert.equal((await events.next()).done, true)
  })

  withStore('a version of the future, of no store, or forgotten is expired', async (store) => {
    const { version } = await store.list()
    const signal = new AbortController().signal
    const watching = (from: string): Promise<unknown> =>
      store
        .watch(from as ResourceVersion, signal)
        [Symbol.asyncIterator]()
        .next()
    await assert.rejects(watching(String(BigInt(version) + 1_000_000n)), status('expired'))
    await assert.rejects(watching('1'), status('expired'))
    const { writesUntilForgotten, forget } = options
    if (writesUntilForgotten === undefined) return
    let registry = await store.create(input('a'))
    for (let i = 0; i < writesUntilForgotten; i++) {
      const metadata = { ...registry.metadata, labels: { i: String(i) } }
      registry = await store.update({ ...registry, metadata }, versionOf(registry))
    }
    await forget?.()
    await assert.rejects(watching(version), status('expired'))
  })

  withStore(
    'notes are kept by name, the last one counts, and no registry or watch is touched by them',
    async (store) => {
      const registry = await store.create(input('a'))
      const { version } = await store.list()
      assert.deepEqual(await store.notes(), new Map())
      await store.note('engines/opensearch/one:9200', '{"a":1}')
      await store.note('other', 'é')
      await store.note('engines/opensearch/one:9200', '{"a":2}')
      await store.note('other', 'é')
      const both = { 'engines/opensearch/one:9200': '{"a":2}', other: 'é' }
      assert.deepEqual(Object.fromEntries(await store.notes()), both)
      await store.forget('other')
      await store.forget('other')
      assert.deepEqual([...(await store.notes()).keys()], ['engines/opensearch/one:9200'])
      assert.deepEqual((await store.list()).items, [registry])
      const abort = new AbortController()
      const events = store.watch(version, abort.signal)[Symbol.asyncIterator]()
      const b = await store.create(input('b'))
      let event = (await events.next()).value as RegistryEvent
      while (event.type === 'BOOKMARK') event = (await events.next()).value as RegistryEvent
      assert.deepEqual(event.object, b)
      abort.abort()
      await events.return?.()
    },
  )

  withStore('keys like __proto__ and text of any script survive', async (store) => {
    const metadata = { annotations: JSON.parse('{"__proto__":"x","\\u00e9/\\ud83d\\ude00":"\\u2028<&>"}') as object }
    const created = await store.create(input('a', {}, metadata))
    const text = JSON.stringify((await store.get('a'))?.metadata.annotations)
    assert.equal(text, JSON.stringify(created.metadata.annotations))
    assert.equal(text, JSON.stringify(metadata.annotations))
  })
}

async function taken(events: AsyncIterator<RegistryEvent>): Promise<RegistryChange> {
  const { value, done } = await events.next()
  assert.notEqual(done, true)
  return changeOf(value)
}

function changeOf(event: RegistryEvent | undefined): RegistryChange {
  assert.ok(event !== undefined && event.type !== 'BOOKMARK')
  return event
}

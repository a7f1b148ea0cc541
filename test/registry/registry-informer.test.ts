import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatusError } from '../../src/kube/status-error.ts'
import type { ResourceVersion } from '../../src/kube/names.ts'
import { RegistryInformer } from '../../src/registry/registry-informer.ts'
import type { RegistryReader } from '../../src/registry/registry-store.ts'
import { SqliteRegistryStore } from '../../src/registry/sqlite/registry-store.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { input } from './fixture.ts'

interface Fixture {
  readonly store: SqliteRegistryStore
  readonly clock: FakeClock
  readonly abort: AbortController
  readonly started: (reader?: RegistryReader) => { informer: RegistryInformer; run: Promise<void>; changes: string[] }
}

async function withInformer(body: (fixture: Fixture) => Promise<void>): Promise<void> {
  const clock = new FakeClock()
  const store = new SqliteRegistryStore({ path: ':memory:', nowMs: () => clock.nowMs() })
  const abort = new AbortController()
  const started: Fixture['started'] = (reader = store) => {
    const informer = new RegistryInformer({ store: reader, clock, random: () => 0, logger: createLogger('silent') })
    const changes: string[] = []
    informer.onChange(() => changes.push(names(informer)))
    return { informer, changes, run: informer.run(abort.signal) }
  }
  try {
    await body({ store, clock, abort, started })
  } finally {
    abort.abort()
    await store.close()
    assert.equal(clock.pending, 0)
  }
}

const names = (informer: RegistryInformer): string =>
  informer
    .current()
    .map(({ metadata }) => metadata.name)
    .sort()
    .join(',')

test('the informer holds what is stored and follows every change', async () => {
  await withInformer(async ({ store, abort, started }) => {
    const a = await store.create(input('a'))
    const { informer, run, changes } = started()
    assert.equal(informer.synced, false)
    await settle()
    assert.equal(informer.synced, true)
    await store.create(input('b'))
    await store.delete('a', a.metadata.resourceVersion as ResourceVersion)
    await settle()
    assert.deepEqual(changes, ['a', 'a,b', 'b'])
    abort.abort()
    await run
  })
})

test('an empty store is told too, so that whoever waits for the registries goes on', async () => {
  await withInformer(async ({ started }) => {
    const { changes } = started()
    await settle()
    assert.deepEqual(changes, [''])
  })
})

test('a watch that expires is listed again at once; a store that fails is asked again with growing waits', async () => {
  await withInformer(async ({ store, clock, abort, started }) => {
    await store.create(input('a'))
    let lists = 0
    const flaky: RegistryReader = {
      get: (name) => store.get(name),
      list: () => {
        lists += 1
        if (lists >= 3 && lists <= 5) return Promise.reject(new StatusError('serviceUnavailable', 'the disk is gone'))
        return store.list()
      },
      async *watch(from, signal) {
        if (lists <= 2) throw new StatusError('expired', 'too old')
        yield* store.watch(from, signal)
      },
    }
    const { informer, run } = started(flaky)
    await settle()
    assert.equal(lists, 2) // expired, listed again at once, expired again without progress: now it waits
    await clock.advance(799)
    assert.equal(lists, 2)
    await clock.advance(1)
    assert.equal(lists, 3)
    await clock.advance(1_599)
    assert.equal(lists, 3)
    assert.equal(names(informer), 'a') // kept while the store fails
    await clock.advance(1 + 3_200 + 6_400)
    assert.equal(lists, 6)
    await store.create(input('b'))
    await settle()
    assert.equal(names(informer), 'a,b')
    abort.abort()
    await run
  })
})

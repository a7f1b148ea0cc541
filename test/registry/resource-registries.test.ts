import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceRegistry } from '../../src/api/resource-registry.ts'
import { isStatusError, type StatusError } from '../../src/kube/status-error.ts'
import type { ResourceVersion } from '../../src/kube/names.ts'
import { ResourceRegistries } from '../../src/registry/resource-registries.ts'
import { SqliteRegistryStore } from '../../src/registry/sqlite/registry-store.ts'
import { FakeClock, seededRandom } from '../support/fake-clock.ts'
import { input, POD_SPEC } from './fixture.ts'

interface Fixture {
  readonly registries: ResourceRegistries
  readonly store: SqliteRegistryStore
  readonly clock: FakeClock
}

async function withRegistries(body: (fixture: Fixture) => Promise<void>): Promise<void> {
  const clock = new FakeClock()
  const store = new SqliteRegistryStore({ path: ':memory:', nowMs: () => clock.nowMs() })
  let uids = 0
  const registries = new ResourceRegistries({
    store,
    clock,
    random: seededRandom(1),
    newUid: () => `uid-${++uids}`,
  })
  try {
    await body({ registries, store, clock })
  } finally {
    await store.close()
  }
}

const INVALID_SPEC = { targetCluster: {}, resourceSelectors: [{ apiVersion: 'a/b/c', kind: '' }] }

/** Past validation, as an older program stored it. */
const storeInvalid = (store: SqliteRegistryStore): Promise<ResourceRegistry> => {
  const registry = input('old', INVALID_SPEC)
  return store.create({
    ...registry,
    metadata: { ...registry.metadata, uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
  })
}

const fields = async (attempt: Promise<unknown>): Promise<(string | undefined)[]> => {
  const error = await attempt.then(
    () => assert.fail('not refused'),
    (reason: unknown) => reason as StatusError,
  )
  assert.ok(isStatusError(error, 'invalid'), String(error))
  return (error.details?.causes ?? []).map(({ field }) => field)
}

/** An entry of `managedFields` for an update. */
function owner(manager: string, fieldsV1: object, time: string): object {
  const apiVersion = 'search.karmada.io/v1alpha1'
  return { manager, operation: 'Update', apiVersion, time, fieldsType: 'FieldsV1', fieldsV1 }
}

test('create sets what belongs to the server and drops the status', async () => {
  await withRegistries(async ({ registries }) => {
    const created = await registries.create({
      ...input('a', {}, { uid: 'mine', generation: 7, creationTimestamp: '2020-01-01T00:00:00Z', namespace: 'x' }),
      status: { conditions: [] },
    })
    const { resourceVersion, ...metadata } = created.metadata
    assert.match(resourceVersion, /^\d+$/)
    const now = '2026-11-30T00:00:00Z'
    assert.deepEqual(metadata, {
      name: 'a',
      uid: 'uid-1',
      generation: 1,
      creationTimestamp: now,
      managedFields: [owner('fleetsearch', { 'f:spec': { 'f:resourceSelectors': {} } }, now)],
    })
    assert.deepEqual(created.status, {})
    assert.deepEqual(await registries.find('a'), created)
  })
})

test('generateName gives a name of its own, also where one is taken', async () => {
  await withRegistries(async ({ registries, store, clock }) => {
    const first = await registries.create(input('', {}, { generateName: 'team-' }))
    assert.match(first.metadata.name, /^team-[b-z2-9]{5}$/)
    const again = new ResourceRegistries({ store, clock, random: seededRandom(1), newUid: () => 'u' })
    const second = await again.create(input('', {}, { generateName: 'team-' }))
    assert.notEqual(second.metadata.name, first.metadata.name)
    assert.deepEqual(await fields(registries.create(input(''))), ['metadata.name'])
  })
})

test('generation counts changes of the spec alone, and the main resource leaves the status', async () => {
  await withRegistries(async ({ registries }) => {
    const created = await registries.create(input('a'))
    const labelled = await registries.update('a', (stored) => ({
      ...stored,
      metadata: { ...stored.metadata, labels: { team: 'x' }, generation: 99, creationTimestamp: '' },
      status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '', reason: 'x', message: '' }] },
    }))
    assert.equal(labelled.metadata.generation, 1)
    assert.equal(labelled.metadata.creationTimestamp, created.metadata.creationTimestamp)
    assert.deepEqual(labelled.status, {})
    const changed = await registries.update('a', (stored) => ({
      ...stored,
      spec: { ...stored.spec, resourceSelectors: [] },
    }))
    assert.equal(changed.metadata.generation, 2)
    assert.deepEqual(changed.metadata.labels, { team: 'x' })
  })
})

test('C9: a status update does not alter spec or metadata', async () => {
  await withRegistries(async ({ registries }) => {
    const created = await registries.create(input('a'))
    const condition = {
      type: 'Ready',
      status: 'True',
      lastTransitionTime: '2026-11-30T00:00:00Z',
      reason: 'Synced',
      message: '',
    } as const
    const updated = await registries.updateStatus('a', (stored) => ({
      ...stored,
      metadata: { ...stored.metadata, labels: { sneaked: 'in' } },
      spec: INVALID_SPEC,
      status: { conditions: [condition] },
    }))
    assert.deepEqual(updated.spec, POD_SPEC)
    const { managedFields, ...metadata } = updated.metadata
    const { managedFields: before, ...rest } = created.metadata
    assert.deepEqual(metadata, { ...rest, resourceVersion: updated.metadata.resourceVersion })
    const fields = { 'f:status': { 'f:conditions': {} } }
    const ofStatus = { ...owner('fleetsearch', fields, '2026-11-30T00:00:00Z'), subresource: 'status' }
    assert.deepEqual(managedFields, [...(before as object[]), ofStatus])
    assert.deepEqual(updated.status, { conditions: [condition] })
  })
})

test('an update that changes nothing keeps the version', async () => {
  await withRegistries(async ({ registries }) => {
    const created = await registries.create(input('a'))
    assert.deepEqual(await registries.update('a', (stored) => stored), created)
  })
})

test('a stale version, another uid and text for a version are told apart; no version is unconditional', async () => {
  await withRegistries(async ({ registries }) => {
    const created = await registries.create(input('a'))
    const put = (metadata: object, team: string): Promise<ResourceRegistry> =>
      registries.update('a', () => input('a', {}, { labels: { team }, ...metadata }))
    await put({ resourceVersion: created.metadata.resourceVersion }, 'x')
    const conflict = (error: unknown): boolean => isStatusError(error, 'conflict')
    await assert.rejects(put({ resourceVersion: created.metadata.resourceVersion }, 'y'), conflict)
    await assert.rejects(put({ uid: 'other' }, 'y'), conflict)
    assert.deepEqual(await fields(put({ resourceVersion: 'abc' }, 'y')), ['metadata.resourceVersion'])
    assert.deepEqual((await put({}, 'z')).metadata.labels, { team: 'z' })
    await assert.rejects(
      registries.update('none', () => input('none')),
      (error) => isStatusError(error, 'notFound'),
    )
  })
})

test('a write without a version is made again on what another writer left', async () => {
  await withRegistries(async ({ registries, store }) => {
    await registries.create(input('a'))
    let raced = false
    const get = store.get.bind(store)
    store.get = async (name) => {
      const stored = await get(name)
      if (!raced && stored !== undefined) {
        raced = true
        const metadata = { ...stored.metadata, annotations: { other: 'writer' } }
        await store.update({ ...stored, metadata }, stored.metadata.resourceVersion as ResourceVersion)
      }
      return stored
    }
    const updated = await registries.update('a', (stored) => ({
      ...stored,
      metadata: { ...stored.metadata, resourceVersion: '', labels: { team: 'x' } },
    }))
    assert.deepEqual(updated.metadata.annotations, { other: 'writer' })
    assert.deepEqual(updated.metadata.labels, { team: 'x' })
  })
})

test('C9: an update that leaves an invalid stored field alone passes, one that adds a fault does not', async () => {
  await withRegistries(async ({ registries, store }) => {
    await storeInvalid(store)
    const touched = await registries.update('old', (stored) => ({
      ...stored,
      metadata: { ...stored.metadata, finalizers: ['example.com/hold'] },
    }))
    assert.deepEqual(touched.metadata.finalizers, ['example.com/hold'])
    assert.deepEqual(touched.spec, INVALID_SPEC)
    const selectors = [{ apiVersion: 'v1', kind: 'Pod' }, ...INVALID_SPEC.resourceSelectors]
    await registries.update('old', (stored) => ({ ...stored, spec: { ...stored.spec, resourceSelectors: selectors } }))
    const worse = [...selectors, { apiVersion: 'v1', kind: '' }]
    assert.deepEqual(
      await fields(
        registries.update('old', (stored) => ({ ...stored, spec: { ...stored.spec, resourceSelectors: worse } })),
      ),
      ['spec.resourceSelectors[2].kind'],
    )
  })
})

test('finalizers hold a deleted object until the last is taken, and none can be added', async () => {
  await withRegistries(async ({ registries, clock }) => {
    await registries.create(input('a', {}, { finalizers: ['example.com/x', 'example.com/y'] }))
    await clock.advance(5_000)
    const { registry, gone } = await registries.delete('a')
    assert.equal(gone, false)
    assert.equal(registry.metadata.deletionTimestamp, '2026-11-30T00:00:05Z')
    assert.equal(registry.metadata.generation, 2)
    assert.deepEqual(await registries.delete('a'), { registry, gone: false })
    const withFinalizers = (finalizers: string[]): Promise<ResourceRegistry> =>
      registries.update('a', (stored) => ({
        ...stored,
        metadata: { ...stored.metadata, deletionTimestamp: '', finalizers },
      }))
    assert.deepEqual(await fields(withFinalizers(['example.com/x', 'example.com/z'])), ['metadata.finalizers'])
    assert.equal((await withFinalizers(['example.com/x'])).metadata.deletionTimestamp, '2026-11-30T00:00:05Z')
    await withFinalizers([])
    assert.equal(await registries.get('a'), undefined)
  })
})

test('delete heeds its preconditions', async () => {
  await withRegistries(async ({ registries }) => {
    const created = await registries.create(input('a'))
    const conflict = (error: unknown): boolean => isStatusError(error, 'conflict')
    await assert.rejects(registries.delete('a', { uid: 'other' }), conflict)
    await assert.rejects(registries.delete('a', { resourceVersion: '1' }), conflict)
    const { uid, resourceVersion } = created.metadata
    assert.equal((await registries.delete('a', { uid, resourceVersion })).gone, true)
    await assert.rejects(registries.delete('a'), (error) => isStatusError(error, 'notFound'))
  })
})

test('a dry run checks and answers everything and stores nothing', async () => {
  await withRegistries(async ({ registries }) => {
    const dry = await registries.create(input('a'), { dryRun: true })
    assert.equal(dry.metadata.uid, 'uid-1')
    assert.equal(await registries.get('a'), undefined)
    assert.deepEqual(await fields(registries.create(input('Bad_Name'), { dryRun: true })), ['metadata.name'])
    const created = await registries.create(input('a'))
    await assert.rejects(registries.create(input('a'), { dryRun: true }), (error) =>
      isStatusError(error, 'alreadyExists'),
    )
    const change = (stored: ResourceRegistry): ResourceRegistry => ({
      ...stored,
      spec: { ...stored.spec, resourceSelectors: [] },
    })
    assert.equal((await registries.update('a', change, { dryRun: true })).metadata.generation, 2)
    assert.equal((await registries.delete('a', {}, { dryRun: true })).gone, true)
    assert.deepEqual(await registries.find('a'), created)
  })
})

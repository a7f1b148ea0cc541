import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SyncCheck } from '../../src/app/sync-check.ts'
import type { Progress } from '../../src/controller/progress.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { FakeClock } from '../support/fake-clock.ts'

function setUp() {
  const clock = new FakeClock()
  const state: { progress: Progress; known: boolean } = {
    known: true,
    progress: { registriesSynced: true, settled: false, shards: 4, synced: 1, undiscovered: ['m2' as ClusterName] },
  }
  const check = new SyncCheck({ progress: () => state.progress }, clock, 30_000)
  return { clock, state, check }
}

describe('readiness of the first sync', () => {
  it('says what it waits for', () => {
    const { check, state } = setUp()
    assert.deepEqual(check.check(), { state: 'pending', reason: 'not started' })
    check.start(() => state.known)
    assert.deepEqual(check.check(), {
      state: 'pending',
      reason: '1 of 4 resources of clusters listed, waiting for clusters m2',
    })
  })
  it('is ready when all has settled, and stays so when a member fails later', () => {
    const { check, state } = setUp()
    check.start(() => state.known)
    state.progress = { ...state.progress, settled: true, synced: 4, undiscovered: [] }
    assert.deepEqual(check.check(), { state: 'ready' })
    state.progress = { ...state.progress, settled: false, shards: 5 }
    assert.deepEqual(check.check(), { state: 'ready' })
  })
  it('does not wait for a dead member longer than its time', async () => {
    const { check, clock, state } = setUp()
    check.start(() => state.known)
    await clock.advance(29_999)
    assert.equal(check.check().state, 'pending')
    await clock.advance(1)
    assert.equal(check.check().state, 'ready')
  })
  it('waits for a fleet that takes longer than that, as long as more of it arrives', async () => {
    const { check, clock, state } = setUp()
    check.start(() => state.known)
    for (const synced of [1, 2, 3]) {
      state.progress = { ...state.progress, synced }
      assert.equal(check.check().state, 'pending')
      await clock.advance(20_000)
      assert.equal(check.check().state, 'pending')
    }
    state.progress = { ...state.progress, undiscovered: [] }
    assert.equal(check.check().state, 'pending', 'a cluster has answered')
    await clock.advance(30_000)
    assert.equal(check.check().state, 'ready')
  })
  it('F4: waits for registries however long their store is down: nothing would be registered', async () => {
    const { check, clock, state } = setUp()
    state.progress = { ...state.progress, registriesSynced: false, shards: 0, synced: 0 }
    check.start(() => state.known)
    await clock.advance(600_000)
    assert.deepEqual(check.check(), { state: 'pending', reason: 'the registries have not been read yet' })
  })
  it('does not take a fleet of nobody for a complete one', async () => {
    const { check, clock, state } = setUp()
    state.known = false
    state.progress = { ...state.progress, settled: true, shards: 0, synced: 0, undiscovered: [] }
    check.start(() => state.known)
    await clock.advance(60_000)
    assert.deepEqual(check.check(), { state: 'pending', reason: 'the clusters are not known yet' })
    state.known = true
    assert.deepEqual(check.check(), { state: 'ready' })
  })
  it('is stopped while it drains', () => {
    const { check, state } = setUp()
    check.start(() => state.known)
    check.stop()
    assert.deepEqual(check.check(), { state: 'stopped', reason: 'shutting down' })
    assert.match(check.waitsFor() ?? '', /listed/, 'what was not full does not become so')
    state.progress = { ...state.progress, settled: true }
    assert.equal(check.waitsFor(), undefined, 'what drains is answered')
    assert.equal(check.check().state, 'stopped')
  })
})

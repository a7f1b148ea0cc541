import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fleet } from '../../src/fleet/fleet.ts'
import type { MemberClient } from '../../src/fleet/member.ts'
import type { ClusterName } from '../../src/kube/names.ts'

import { facts } from '../support/cluster-facts.ts'

function client(close: () => Promise<void> = () => Promise.resolve()): MemberClient {
  return { request: () => Promise.reject(new Error('not asked')), close }
}

test('members are in the byte order of their names', () => {
  const fleet = new Fleet(() => undefined)
  for (const name of ['b', 'a-1', 'é', 'a', '🙂', 'Z']) fleet.engage(facts(name), client())
  assert.deepEqual(
    fleet.members().map((member) => member.facts.name),
    ['Z', 'a', 'a-1', 'b', 'é', '🙂'],
  )
})

test('a member engaged again is another: the old signal aborts before anybody sees the new one', () => {
  const fleet = new Fleet(() => undefined)
  let closed = 0
  const closing = client(() => {
    closed += 1
    return Promise.resolve()
  })
  fleet.engage(facts('a'), closing)
  const old = fleet.member('a' as ClusterName)
  const seen: string[] = []
  fleet.onChange(({ type, member }) => {
    seen.push(`${type} ${member.facts.uid} ${old?.signal.aborted === true}`)
  })
  fleet.engage(facts('a', { uid: 'other' }), client())
  assert.deepEqual(seen, ['disengaged uid-a true', 'engaged other true'])
  assert.match(String(old?.signal.reason), /cluster a replaced/)
  assert.equal(closed, 1)
  assert.equal(fleet.members().length, 1)
})

test('an update keeps client and signal; one of an unknown member is nothing', () => {
  const fleet = new Fleet(() => undefined)
  fleet.engage(facts('a'), client())
  const before = fleet.member('a' as ClusterName)
  const seen: string[] = []
  const stop = fleet.onChange(({ type }) => void seen.push(type))
  fleet.update(facts('a', { ready: false }))
  fleet.update(facts('b'))
  fleet.disengage('b' as ClusterName, 'left')
  const after = fleet.member('a' as ClusterName)
  assert.equal(after?.facts.ready, false)
  assert.equal(after.client, before?.client)
  assert.equal(after.signal, before?.signal)
  stop()
  fleet.disengage('a' as ClusterName, 'left')
  assert.deepEqual(seen, ['updated'])
})

test('a client that fails to close is told, not thrown', async () => {
  const failed: unknown[] = []
  const fleet = new Fleet((error) => failed.push(error))
  const broken = new Error('stuck')
  fleet.engage(
    facts('a'),
    client(() => Promise.reject(broken)),
  )
  fleet.disengage('a' as ClusterName, 'left')
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(failed, [broken])
})

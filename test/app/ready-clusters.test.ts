import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readyClusters } from '../../src/app/ready-clusters.ts'
import { Fleet } from '../../src/fleet/fleet.ts'
import { unreachableClient } from '../../src/fleet/member-client.ts'
import type { ClusterFacts } from '../../src/fleet/member.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { facts as factsOf } from '../support/cluster-facts.ts'

const facts = (ready: boolean): ClusterFacts => factsOf('m1', { ready })

it('--stale-clusters=drop: a cluster leaves while it is not ready, and comes back', () => {
  const fleet = new Fleet((error) => assert.fail(String(error)))
  const view = readyClusters(fleet)
  const heard: string[] = []
  const stop = view.onChange(({ type, member }) => heard.push(`${type} ${member.facts.ready}`))
  const names = (): string[] => view.members().map(({ facts: { name } }) => name)
  fleet.engage(facts(true), unreachableClient('a test'))
  assert.deepEqual(names(), ['m1'])
  fleet.update(facts(false))
  assert.deepEqual(names(), [])
  assert.equal(view.member('m1' as ClusterName), undefined)
  fleet.update(facts(true))
  assert.equal(view.member('m1' as ClusterName)?.facts.uid, 'uid-m1')
  fleet.disengage('m1' as ClusterName, 'left')
  assert.deepEqual(heard, ['engaged true', 'disengaged false', 'updated true', 'disengaged true'])
  stop()
})

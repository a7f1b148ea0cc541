import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { track, type TrackedDiscovery } from '../../src/controller/tracked-discovery.ts'
import type { Discovery } from '../../src/fleet/discovery.ts'
import type { DiscoveredResource } from '../../src/fleet/discovery/discovered.ts'
import { gvrKey } from '../../src/kube/group-version.ts'
import { DEPLOYMENTS, NODES, PODS, resource } from './fixture.ts'

const FOOS = resource('example.io/v1/foos:Foo')
const answer = (resources: readonly DiscoveredResource[], ...failedGroups: string[]): Discovery => ({
  resources,
  failedGroups,
})
const served = ({ resources }: TrackedDiscovery): string[] => resources.map(gvrKey).sort()

function after(...answers: readonly Discovery[]): TrackedDiscovery {
  return answers.reduce<TrackedDiscovery | undefined>(track, undefined) ?? assert.fail()
}

test('C6: what a group served is kept while the member cannot say what it serves', () => {
  const tracked = after(answer([PODS, FOOS]), ...Array<Discovery>(5).fill(answer([PODS], 'example.io')))
  assert.deepEqual(served(tracked), ['example.io/v1/foos', 'v1/pods'])
  assert.deepEqual(tracked.failedGroups, ['example.io'])
  assert.equal(tracked.missing.size, 0)
})

test('what one full answer leaves out is gone with the second', () => {
  const once = after(answer([PODS, FOOS]), answer([PODS]))
  assert.deepEqual(served(once), ['example.io/v1/foos', 'v1/pods'])
  assert.deepEqual([...once.missing], ['example.io/v1/foos'])
  assert.deepEqual(served(track(once, answer([PODS]))), ['v1/pods'])
})

test('what comes back is counted, so that whoever followed it begins again', () => {
  const back = after(answer([PODS, FOOS]), answer([PODS]), answer([PODS, FOOS]))
  assert.deepEqual(served(back), ['example.io/v1/foos', 'v1/pods'])
  assert.equal(back.returns.get('example.io/v1/foos'), 1)
  assert.equal(back.returns.get('v1/pods'), undefined)
})

test('nothing new is the same array', () => {
  const first = after(answer([PODS, NODES]))
  const again = track(first, answer([{ ...PODS }, { ...NODES }]))
  assert.equal(again.resources, first.resources)
  assert.notEqual(track(first, answer([PODS, NODES, DEPLOYMENTS])).resources, first.resources)
})

test('a resource is never dropped by fewer than two full answers, and never kept by two', () => {
  const all = [PODS, NODES, DEPLOYMENTS, FOOS]
  const anyAnswer = fc
    .record({ resources: fc.subarray(all), failedGroups: fc.subarray(['', 'apps', 'example.io']) })
    .map(({ resources, failedGroups }) => answer(resources, ...failedGroups))
  fc.assert(
    fc.property(fc.array(anyAnswer, { minLength: 1, maxLength: 8 }), (answers) => {
      const tracked = after(answers[0] ?? assert.fail(), ...answers.slice(1))
      for (const each of all) {
        const key = gvrKey(each)
        // How the answers since it was last served speak of it: a full one that leaves it out, or one that cannot say.
        const last = answers.findLastIndex(({ resources }) => resources.includes(each))
        const absences = answers.slice(last + 1).filter(({ failedGroups }) => !failedGroups.includes(each.group)).length
        const expected = last >= 0 && absences < 2
        assert.equal(
          tracked.resources.some((one) => gvrKey(one) === key),
          expected,
          key,
        )
      }
    }),
  )
})

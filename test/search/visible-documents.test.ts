import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentsVisibleTo, type VisibleToCaller } from '../../src/search/visible-documents.ts'
import type { ClusterRights, Rights, RightsQuestion } from '../../src/http/rights.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { EVERYTHING, NOTHING, scope } from '../support/fake-rights.ts'
import { NODES, PODS, TestFleet } from '../proxy/fleet-fixture.ts'

type Rule = (question: RightsQuestion, cluster: ClusterName) => ClusterRights

async function visible(rule: Rule, clusters = ['m1', 'm2', 'm3']): Promise<VisibleToCaller> {
  const fleet = new TestFleet().register(PODS, 'Pod', true).register(NODES, 'Node', false)
  for (const cluster of clusters) {
    fleet.shard(cluster, PODS)
    fleet.shard(cluster, NODES, 'Node', false)
  }
  const rights: Rights = {
    of: (question, names) => Promise.resolve(new Map(names.map((name) => [name, rule(question, name)]))),
    onChange: () => () => undefined,
  }
  const user = { name: 'bob', uid: '', groups: [], extra: {} }
  const result = await documentsVisibleTo(rights, fleet.cache, { user, signal: AbortSignal.timeout(1_000) })
  fleet.close()
  return result
}

test('who may list everything everywhere searches without any restriction', async () => {
  const { documents, hidden, inPart } = await visible(() => ({ scope: EVERYTHING }))
  assert.deepEqual([documents, hidden.size, inPart.size], [undefined, 0, 0])
})

test('a document is visible by the right to list, and clusters of equal rights share their part', async () => {
  const verbs = new Set<string>()
  const { documents, hidden, inPart } = await visible(({ verb, resource }, cluster) => {
    verbs.add(verb)
    if (resource === 'nodes') return { scope: cluster === 'm3' ? EVERYTHING : NOTHING }
    return { scope: scope(['ns1'], ['ns2', 'a'], ['', 'b']) }
  })
  assert.deepEqual([...verbs], ['list'])
  assert.deepEqual(
    [...(documents?.clusters ?? [])],
    [
      ['m1', 0],
      ['m2', 0],
      ['m3', 1],
    ],
  )
  const pods = {
    group: '',
    resource: 'pods',
    everything: false,
    namespaces: ['ns1'],
    names: [{ namespace: 'ns2', name: 'a' }, { name: 'b' }],
  }
  const nodes = { group: '', resource: 'nodes', everything: true, namespaces: [], names: [] }
  assert.deepEqual(documents?.parts, [[pods], [pods, nodes]])
  assert.deepEqual([hidden.size, [...inPart]], [0, ['m1', 'm2', 'm3']])
})

test('grants within namespaces show no objects that have none', async () => {
  const { documents, hidden } = await visible(({ resource }) => ({
    scope: resource === 'nodes' ? scope(['ns1'], ['ns1', 'node-1']) : NOTHING,
  }))
  assert.deepEqual([documents?.parts, [...hidden.keys()]], [[], ['m1', 'm2', 'm3']])
})

test('a cluster of which nothing is visible says why', async () => {
  const { hidden, documents } = await visible((_question, cluster) => {
    if (cluster === 'm1') return { scope: EVERYTHING }
    return cluster === 'm2' ? { scope: NOTHING } : { scope: NOTHING, undetermined: 'it does not answer' }
  })
  assert.deepEqual(
    [...hidden],
    [
      ['m2', 'you may not list anything there'],
      ['m3', 'your rights: it does not answer'],
    ],
  )
  assert.deepEqual([...(documents?.clusters.keys() ?? [])], ['m1'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterAffinity } from '../../src/api/resource-registry.ts'
import { matchesCluster } from '../../src/controller/cluster-affinity.ts'
import { guessNamespaced, guessResource } from '../../src/controller/guess-resource.ts'
import { facts } from '../support/cluster-facts.ts'

const cluster = facts('member1', {
  labels: { env: 'prod', team: 'a' },
  provider: 'aws',
  region: 'eu',
  zones: ['eu-1', 'eu-2'],
})
const matches = (affinity: ClusterAffinity): boolean => matchesCluster(affinity, cluster)
const field = (key: string, operator: string, ...values: string[]): ClusterAffinity => ({
  fieldSelector: { matchExpressions: [{ key, operator, values }] },
})

test('an empty affinity matches every cluster', () => {
  assert.ok(matches({}))
  assert.ok(matches({ clusterNames: [], exclude: [], labelSelector: {}, fieldSelector: {} }))
})

test('names, exclude and labels must all agree; exclude wins', () => {
  assert.ok(matches({ clusterNames: ['other', 'member1'] }))
  assert.ok(!matches({ clusterNames: ['member'] }))
  assert.ok(!matches({ clusterNames: ['member1'], exclude: ['member1'] }))
  assert.ok(matches({ labelSelector: { matchLabels: { env: 'prod' } } }))
  assert.ok(!matches({ clusterNames: ['member1'], labelSelector: { matchLabels: { env: 'test' } } }))
  assert.ok(matches({ labelSelector: { matchExpressions: [{ key: 'absent', operator: 'NotIn', values: ['x'] }] } }))
})

test('fields: provider and region have one value, zones several', () => {
  assert.ok(matches(field('provider', 'In', 'gcp', 'aws')))
  assert.ok(!matches(field('provider', 'NotIn', 'aws')))
  assert.ok(matches(field('region', 'NotIn', 'us')))
  assert.ok(matches(field('zone', 'In', 'eu-1', 'eu-2', 'eu-3')))
  assert.ok(!matches(field('zone', 'In', 'eu-1')))
  assert.ok(!matches(field('zone', 'NotIn', 'eu-2')))
  const bare = facts('bare')
  assert.ok(!matchesCluster(field('zone', 'In', 'eu-1'), bare))
  assert.ok(matchesCluster(field('provider', 'NotIn', 'aws'), bare))
})

test('what is malformed matches nothing instead of everything', () => {
  assert.ok(!matches(field('colour', 'NotIn', 'red')))
  assert.ok(!matches(field('region', 'Like', 'e')))
  assert.ok(!matches({ labelSelector: { matchExpressions: [{ key: 'env', operator: 'In' }] } }))
  assert.ok(!matches({ labelSelector: { matchLabels: { env: 'not valid!' } } }))
})

test('names of resources nobody serves are guessed as apimachinery does', () => {
  const kinds = ['Pod', 'Ingress', 'NetworkPolicy', 'Endpoints', 'StorageClass', 'Gateway']
  assert.deepEqual(kinds.map(guessResource), [
    'pods',
    'ingresses',
    'networkpolicies',
    'endpoints',
    'storageclasses',
    'gatewaies',
  ])
  assert.equal(guessNamespaced({ group: '', kind: 'Node' }), false)
  assert.equal(guessNamespaced({ group: 'example.io', kind: 'Node' }), true)
})

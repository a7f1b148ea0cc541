import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceRegistry, ResourceSelector, SearchEngineStore } from '../../src/api/resource-registry.ts'
import { KnownResources } from '../../src/controller/known-resources.ts'
import { planShards } from '../../src/controller/plan.ts'
import { MAX_ENGINE_STORES, planStores, type PlannedStore } from '../../src/controller/store-plan.ts'
import { NODES, pods, PODS, registry, SECRETS } from './fixture.ts'
import { facts } from '../support/cluster-facts.ts'

type Engines = NonNullable<ResourceRegistry['spec']['backendStore']>

const engine = (address: string, secret?: string): SearchEngineStore => ({
  addresses: address.split(','),
  ...(secret === undefined ? {} : { secretRef: { namespace: 'ns', name: secret } }),
})

function asking(name: string, backendStore: Engines | undefined, ...selectors: ResourceSelector[]): ResourceRegistry {
  const plain = registry(name, selectors.length === 0 ? [pods()] : selectors)
  return backendStore === undefined ? plain : { ...plain, spec: { ...plain.spec, backendStore } }
}

function stores(...registries: ResourceRegistry[]) {
  const { shards } = planShards({
    registries,
    members: ['a', 'b'].map((name) => ({ facts: facts(name), resources: [PODS, NODES, SECRETS] })),
    known: new KnownResources(),
    cached: new Map(),
  })
  return planStores(registries, shards)
}

const summary = ({ kind, addresses, registries, shards }: PlannedStore): string =>
  `${kind} ${addresses.join()} for ${registries.join()}: ${shards
    .map(
      ({ cluster, resource, namespaces }) =>
        `${cluster}/${resource}${namespaces === undefined ? '' : `[${[...namespaces].join()}]`}`,
    )
    .join(' ')}`

const secrets = (namespace: string): ResourceSelector => ({ apiVersion: 'v1', kind: 'Secret', namespace })

test('a registry without a backendStore is in no engine; others mirror what they ask for and no more', () => {
  const { stores: planned, problems } = stores(
    asking('plain', undefined, pods(), { apiVersion: 'v1', kind: 'Node' }),
    asking('os', { openSearch: engine('http://os:9200') }),
    asking('es', { elasticsearch: engine('http://es:9200') }, { apiVersion: 'v1', kind: 'Node' }),
  )
  assert.deepEqual(planned.map(summary), [
    'elasticsearch http://es:9200 for es: a/nodes b/nodes',
    'opensearch http://os:9200 for os: a/pods b/pods',
  ])
  assert.deepEqual(problems, [])
})

test('a cluster may be mirrored by several engines, and a registry may name one of each kind', () => {
  const both = { openSearch: engine('http://one:9200'), elasticsearch: engine('http://one:9200') }
  const { stores: planned } = stores(asking('both', both), asking('other', { openSearch: engine('http://two:9200') }))
  assert.deepEqual(planned.map(summary), [
    'opensearch http://one:9200 for both: a/pods b/pods',
    'elasticsearch http://one:9200 for both: a/pods b/pods',
    'opensearch http://two:9200 for other: a/pods b/pods',
  ])
})

test('namespaces are those of the registries that name the engine, whatever others cache', () => {
  const os = { openSearch: engine('http://os:9200') }
  const of = (...registries: ResourceRegistry[]): string[] => stores(...registries).stores.map(summary)
  const all = asking('all', undefined, { apiVersion: 'v1', kind: 'Secret' })
  assert.deepEqual(of(all, asking('one', os, secrets('x'))), [
    'opensearch http://os:9200 for one: a/secrets[x] b/secrets[x]',
  ])
  assert.deepEqual(of(all, asking('one', os, secrets('x')), asking('two', os, secrets('y'))), [
    'opensearch http://os:9200 for one,two: a/secrets[x,y] b/secrets[x,y]',
  ])
  assert.deepEqual(of(asking('one', os, secrets('x')), asking('two', os, { apiVersion: 'v1', kind: 'Secret' })), [
    'opensearch http://os:9200 for one,two: a/secrets b/secrets',
  ])
})

test('addresses that have one in common are one engine, however they are written', () => {
  const { stores: planned } = stores(
    asking('r1', { openSearch: engine('http://a:9200') }),
    asking('r2', { openSearch: engine('http://b:9200') }),
    asking('r3', { openSearch: engine('http://user:pw@A:9200/,http://b:9200/') }),
  )
  assert.equal(planned.length, 1)
  assert.deepEqual(planned[0]?.registries, ['r1', 'r2', 'r3'])
})

test('of several Secrets for one engine the first registry counts, and the others are told', () => {
  const { stores: planned, problems } = stores(
    asking('b', { openSearch: engine('http://os:9200', 'second') }),
    asking('a', { openSearch: engine('http://os:9200', 'first') }),
    asking('c', { openSearch: engine('http://os:9200') }),
  )
  assert.deepEqual(planned[0]?.secretRef, { namespace: 'ns', name: 'first' })
  assert.deepEqual(
    problems.map(({ registry, reason }) => `${registry} ${reason}`),
    ['b OtherCredentials', 'c OtherCredentials'],
  )
})

test('engines beyond the bound are not written to, and an address that is no URL is told', () => {
  const many = Array.from({ length: MAX_ENGINE_STORES + 2 }, (_, i) =>
    asking(`r${i}`, { openSearch: engine(`http://host${i}:9200`) }),
  )
  const { stores: planned, problems } = stores(...many, asking('bad', { openSearch: engine('what') }))
  assert.equal(planned.length, MAX_ENGINE_STORES)
  assert.deepEqual(
    problems.map(({ registry, reason }) => `${registry} ${reason}`),
    ['bad BadAddress', 'r8 TooManyStores', 'r9 TooManyStores'],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ResourceRegistry } from '../../src/api/resource-registry.ts'
import type { DiscoveredResource } from '../../src/fleet/discovery/discovered.ts'
import type { ClusterFacts } from '../../src/fleet/member.ts'
import { groupResourceKey, gvrKey } from '../../src/kube/group-version.ts'
import { KnownResources } from '../../src/controller/known-resources.ts'
import { planShards, type Plan } from '../../src/controller/plan.ts'
import type { PlannedResource } from '../../src/controller/plan-parts.ts'
import { DEPLOYMENTS, EVENTS, NODES, PODS, SECRETS, everything, pods, registry, resource } from './fixture.ts'
import { facts } from '../support/cluster-facts.ts'

interface Member {
  readonly facts: ClusterFacts
  readonly resources: readonly DiscoveredResource[] | undefined
}

const member = (
  name: string,
  resources: Member['resources'] = [PODS, NODES],
  more?: Partial<ClusterFacts>,
): Member => ({
  facts: facts(name, more),
  resources,
})

const dead = (name: string): Member => ({ facts: facts(name), resources: undefined })

function plan(
  registries: readonly ResourceRegistry[],
  members: readonly Member[],
  { known = [], cached = [] }: { known?: DiscoveredResource[]; cached?: readonly PlannedResource[] } = {},
): Plan {
  const knownResources = new KnownResources()
  knownResources.learn(known)
  return planShards({
    registries,
    members,
    known: knownResources,
    cached: new Map(cached.map((each) => [groupResourceKey(each.gvr), each])),
  })
}

/** `cluster/v1/pods`, with `[ns,…]` where not all, `?` where not known to be served. */
const shards = ({ shards }: Plan): string[] =>
  shards.map(
    ({ cluster, gvr, namespaces, served }) =>
      `${cluster}/${gvrKey(gvr)}${namespaces === undefined ? '' : `[${[...namespaces].join()}]`}${served ? '' : '?'}`,
  )
const resources = ({ resources }: Plan): string[] => resources.map(({ gvr }) => gvrKey(gvr))
const problems = ({ problems }: Plan): string[] => problems.map(({ registry, reason }) => `${registry}: ${reason}`)

test('a registry of all clusters has a shard in each that serves the kind', () => {
  const result = plan([registry('rr', [pods()])], [member('b'), member('a'), member('c', [NODES])])
  assert.deepEqual(shards(result), ['a/v1/pods', 'b/v1/pods'])
  assert.deepEqual(resources(result), ['v1/pods'])
  assert.deepEqual(result.targets.get('rr'), ['a', 'b', 'c'])
  assert.deepEqual(problems(result), [])
})

test('C1: clusters are matched by name, exclude, label and field as they are now', () => {
  const labelled = registry('label', [pods()], {
    labelSelector: { matchExpressions: [{ key: 'managed', operator: 'Exists' }] },
  })
  const named = registry('ghost', [pods()], { clusterNames: ['ghost'] })
  assert.deepEqual(shards(plan([labelled, named], [member('late')])), [])
  assert.deepEqual(shards(plan([labelled, named], [member('late', [PODS], { labels: { managed: '' } })])), [
    'late/v1/pods',
  ])
  assert.deepEqual(shards(plan([labelled, named], [member('ghost'), member('late')])), ['ghost/v1/pods'])
  assert.deepEqual(problems(plan([named], [member('late')])), ['ghost: NoClusterMatches'])
})

test('C3: two registries unite their namespaces, one without widens to all, and it shrinks back in any order', () => {
  const one = registry('one', [{ apiVersion: 'v1', kind: 'Secret', namespace: 'ns1' }])
  const two = registry('two', [{ apiVersion: 'v1', kind: 'Secret', namespace: 'ns2' }])
  const all = registry('all', [{ apiVersion: 'v1', kind: 'Secret' }])
  const of = (...registries: ResourceRegistry[]): string[] => shards(plan(registries, [member('m', [SECRETS])]))
  assert.deepEqual(of(one), ['m/v1/secrets[ns1]'])
  assert.deepEqual(of(two, one), ['m/v1/secrets[ns1,ns2]'])
  assert.deepEqual(of(one, two, all), ['m/v1/secrets'])
  assert.deepEqual(of(two, all), ['m/v1/secrets'])
  assert.deepEqual(of(two), ['m/v1/secrets[ns2]'])
  assert.deepEqual(of(), [])
  assert.deepEqual(plan([two, one], [member('m', [SECRETS])]).shards[0]?.registries, ['one', 'two'])
})

test('namespaces are united for each cluster by itself, and count for nothing where objects lie in none', () => {
  const a = registry('a', [pods('x'), { apiVersion: 'v1', kind: 'Node', namespace: 'x' }], { clusterNames: ['one'] })
  const b = registry('b', [pods()], { clusterNames: ['two'] })
  assert.deepEqual(shards(plan([a, b], [member('one'), member('two')])), [
    'one/v1/nodes',
    'one/v1/pods[x]',
    'two/v1/pods',
  ])
})

test('B4: a registered kind is registered without any cluster, under the name that was ever known, or guessed', () => {
  const rr = registry('rr', [pods(), { apiVersion: 'example.io/v1', kind: 'Policy' }])
  assert.deepEqual(resources(plan([rr], [])), ['v1/pods', 'example.io/v1/policies'])
  const known = [resource('example.io/v1beta1/polizies:Policy!')]
  const result = plan([rr], [], { known })
  assert.deepEqual(resources(result), ['v1/pods', 'example.io/v1/polizies'])
  assert.equal(result.resources[1]?.namespaced, false)
  assert.deepEqual(problems(result), ['rr: NoClusterMatches'])
})

test('C6: a kind that only one cluster serves has one shard; where none does, the registry is told', () => {
  const foo = resource('example.io/v1/foos:Foo')
  const rr = registry('rr', [{ apiVersion: 'example.io/v1', kind: 'Foo' }])
  const result = plan([rr], [member('m1', [foo]), member('m2')])
  assert.deepEqual(shards(result), ['m1/example.io/v1/foos'])
  assert.deepEqual(problems(result), [])
  assert.deepEqual(problems(plan([rr], [member('m1'), member('m2')])), ['rr: NotServed'])
})

test('a cluster that could not be asked yet is missing, not left out, and no verdict falls over it', () => {
  const rr = registry('rr', [pods()])
  assert.deepEqual(shards(plan([rr], [dead('dead'), member('live')])), ['dead/v1/pods?', 'live/v1/pods'])
  assert.deepEqual(problems(plan([rr], [dead('dead')])), [])
  const wild = plan([registry('rr', [everything])], [dead('dead'), member('live')])
  assert.deepEqual(shards(wild), ['dead/v1/nodes?', 'dead/v1/pods?', 'live/v1/nodes', 'live/v1/pods'])
})

test('what cannot be listed and watched is not cached, and the registry is told', () => {
  const metrics = resource('metrics.k8s.io/v1beta1/pods:PodMetrics', { verbs: ['get', 'list'] })
  const rr = registry('rr', [{ apiVersion: 'metrics.k8s.io/v1beta1', kind: 'PodMetrics' }, everything])
  const result = plan([rr], [member('m', [metrics, PODS])])
  assert.deepEqual(resources(result), ['v1/pods'])
  assert.deepEqual(problems(result), ['rr: NotWatchable'])
})

test('wildcards take everything listable and watchable but Events and Secrets, which a name still adds', () => {
  const events = resource('events.k8s.io/v1/events:Event')
  const all = [PODS, NODES, SECRETS, EVENTS, events, DEPLOYMENTS, resource('example.io/v1/secrets:Secret')]
  const of = (...registries: ResourceRegistry[]): string[] => shards(plan(registries, [member('m', all)]))
  const byWildcard = ['m/apps/v1/deployments', 'm/v1/nodes', 'm/v1/pods', 'm/example.io/v1/secrets']
  assert.deepEqual(of(registry('rr', [everything])), byWildcard)
  const secrets = { apiVersion: 'v1', kind: 'Secret', namespace: 'ns1' }
  assert.deepEqual(of(registry('rr', [everything]), registry('s', [secrets])), [
    ...byWildcard.slice(0, 3),
    'm/v1/secrets[ns1]',
    ...byWildcard.slice(3),
  ])
  assert.deepEqual(of(registry('rr', [{ apiVersion: 'apps/v1', kind: '*' }])), ['m/apps/v1/deployments'])
  assert.deepEqual(of(registry('rr', [{ apiVersion: '*', kind: 'Event' }])), [
    'm/v1/events',
    'm/events.k8s.io/v1/events',
  ])
  assert.deepEqual(of(registry('rr', [{ ...everything, namespace: 'x' }])), [
    'm/apps/v1/deployments[x]',
    'm/v1/pods[x]',
    'm/example.io/v1/secrets[x]',
  ])
})

test('B4: what a wildcard cached stays registered when the last cluster goes, and goes with its CRD', () => {
  const foo = resource('example.io/v1/foos:Foo')
  const wild = registry('rr', [everything])
  const cached = plan([wild], [member('m', [PODS, foo])]).resources
  assert.deepEqual(resources(plan([wild], [], { cached })), ['example.io/v1/foos', 'v1/pods'])
  assert.deepEqual(resources(plan([wild], [dead('m')], { cached })), ['example.io/v1/foos', 'v1/pods'])
  assert.deepEqual(resources(plan([wild], [member('m', [PODS])], { cached })), ['v1/pods'])
  assert.deepEqual(resources(plan([], [], { cached })), [])
})

test('one version of a resource is cached: the highest that is named and served, else the most served', () => {
  const v1 = resource('example.io/v1/foos:Foo', { preferred: false })
  const beta = resource('example.io/v1beta1/foos:Foo')
  const named = (...versions: string[]): ResourceRegistry[] =>
    versions.map((version) => registry(version, [{ apiVersion: `example.io/${version}`, kind: 'Foo' }]))
  const both = plan(named('v1beta1', 'v1'), [member('m', [beta, v1]), member('old', [beta])])
  assert.deepEqual(shards(both), ['m/example.io/v1/foos'])
  assert.deepEqual(problems(both), ['v1beta1: OtherVersionCached'])
  assert.deepEqual(shards(plan(named('v1beta1', 'v1'), [member('old', [beta])])), ['old/example.io/v1beta1/foos'])
  const wild = [registry('rr', [everything])]
  const members = [member('a', [beta, v1]), member('b', [beta])]
  assert.deepEqual(resources(plan(wild, members)), ['example.io/v1beta1/foos'])
  // No change without need: a version cached before stays as long as somebody serves it.
  const cached = [{ gvr: { group: 'example.io', version: 'v1', resource: 'foos' }, kind: 'Foo', namespaced: true }]
  assert.deepEqual(resources(plan(wild, members, { cached })), ['example.io/v1/foos'])
  assert.deepEqual(resources(plan(wild, [member('b', [beta])], { cached })), ['example.io/v1beta1/foos'])
  // A name beats what was cached.
  assert.deepEqual(resources(plan([...wild, ...named('v1beta1')], members, { cached })), ['example.io/v1beta1/foos'])
})

test('a selector without apiVersion is the core group', () => {
  const rr = registry('rr', [{ apiVersion: '', kind: 'Pod' }])
  assert.deepEqual(shards(plan([rr], [member('m')])), ['m/v1/pods'])
  assert.deepEqual(resources(plan([rr], [])), ['v1/pods'])
})

test('a stored selector that names nothing is told and harms no other', () => {
  const rr = registry('rr', [{ apiVersion: 'a/b/c', kind: 'Pod' }, { apiVersion: 'v1', kind: '' }, pods()])
  const result = plan([rr], [member('m')])
  assert.deepEqual(shards(result), ['m/v1/pods'])
  assert.deepEqual(problems(result), ['rr: NotServed', 'rr: NotServed'])
})

test('the plan depends on neither the order of registries nor that of members', () => {
  const registries = [
    registry('a', [pods('x'), everything]),
    registry('b', [pods('y'), { apiVersion: 'v1', kind: 'Secret' }], { exclude: ['m2'] }),
    registry('c', [{ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'z' }], { clusterNames: ['m1', 'm3'] }),
  ]
  const members = [member('m1', [PODS, SECRETS, DEPLOYMENTS]), dead('m2'), member('m3', [PODS, NODES])]
  const expected = plan(registries, members)
  fc.assert(
    fc.property(
      fc.shuffledSubarray(registries, { minLength: 3 }),
      fc.shuffledSubarray(members, { minLength: 3 }),
      (shuffledRegistries, shuffledMembers) => {
        assert.deepEqual(plan(shuffledRegistries, shuffledMembers), expected)
      },
    ),
  )
})

test('every shard is wanted by a registry that matches its cluster, and none is wanted twice', () => {
  const names = ['m1', 'm2', 'm3']
  const kinds = [PODS, NODES, SECRETS, DEPLOYMENTS]
  const anyRegistry = fc.record({
    selectors: fc.array(
      fc.record({
        kind: fc.constantFrom(...kinds),
        namespace: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
      }),
      { maxLength: 3 },
    ),
    clusterNames: fc.subarray(names),
  })
  const anyMember = fc.record({ served: fc.option(fc.subarray(kinds), { nil: undefined }) })
  fc.assert(
    fc.property(fc.array(anyRegistry, { maxLength: 4 }), fc.array(anyMember, { maxLength: 3 }), (wanted, served) => {
      const registries = wanted.map(({ selectors, clusterNames }, i) =>
        registry(
          `r${i}`,
          selectors.map(({ kind, namespace }) => ({
            apiVersion: kind.group === '' ? 'v1' : `${kind.group}/v1`,
            kind: kind.kind,
            ...(namespace === undefined ? {} : { namespace }),
          })),
          { clusterNames },
        ),
      )
      const members = served.map(({ served }, i) =>
        served === undefined ? dead(`m${i + 1}`) : member(`m${i + 1}`, served),
      )
      const result = plan(registries, members)
      const keys = result.shards.map(({ cluster, gvr }) => `${cluster}/${gvrKey(gvr)}`)
      assert.equal(new Set(keys).size, keys.length)
      for (const shard of result.shards) {
        const { resources } = members.find(({ facts }) => facts.name === shard.cluster) ?? assert.fail('no such member')
        assert.equal(shard.served, resources?.some(({ resource }) => resource === shard.gvr.resource) ?? false)
        assert.notEqual(shard.namespaces?.size, 0)
        assert.ok(shard.registries.length > 0)
        for (const name of shard.registries) assert.ok(result.targets.get(name)?.includes(shard.cluster))
      }
    }),
  )
})

test('what any registry redacts of a kind is taken out of it in all clusters, and what cannot be read is everything', () => {
  const redacting = (name: string, text: string): ResourceRegistry => {
    const made = registry(name, [])
    return { ...made, metadata: { ...made.metadata, annotations: { 'fleetsearch.dev/redact': text } } }
  }
  const redactions = (...texts: string[]): unknown => {
    const registries = [registry('all', [pods()]), ...texts.map((text, i) => redacting(`r${i}`, text))]
    const { resources, shards } = plan(registries, [member('m1'), member('m2')])
    assert.deepEqual(
      new Set(shards.map(({ redaction }) => redaction)),
      new Set(resources.map((each) => each.redaction)),
    )
    return resources.map(({ redaction }) => redaction)
  }
  assert.deepEqual(redactions(), [undefined])
  assert.deepEqual(redactions('Secret: data.*'), [undefined])
  assert.deepEqual(redactions('Pod: spec.b', 'Pod: spec.a\nPod: spec.b'), ['[["spec","a"],["spec","b"]]'])
  assert.deepEqual(redactions('not a kind: spec.a'), ['[["*"],["metadata","annotations","*"]]'])
})

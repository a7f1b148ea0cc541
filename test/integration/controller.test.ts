/** The controller against a real kube-apiserver: rights by namespace, CRDs that come, go and return, a restart. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { ResourceRegistry } from '../../src/api/resource-registry.ts'
import { Cache } from '../../src/cache/cache.ts'
import { Controller } from '../../src/controller/controller.ts'
import { DiscoveryTracker } from '../../src/controller/discovery-tracker.ts'
import { httpReflectorRunner } from '../../src/controller/http-reflector-runner.ts'
import { ReplaceableCredentials } from '../../src/fleet/credentials.ts'
import { Fleet } from '../../src/fleet/fleet.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { systemClock as clock, systemRandom as random } from '../../src/util/clock.ts'
import { everything, pods, registry } from '../controller/fixture.ts'
import { facts } from '../support/cluster-facts.ts'
import { Registries } from '../controller/world.ts'
import { startControlPlane, type RealCluster } from '../support/real-parts/index.ts'

const logger = createLogger('silent')

class Watching {
  readonly cache = new Cache({ clock })
  readonly dropped: string[] = []
  readonly fleet = new Fleet((error) => {
    throw error
  })
  readonly #abort = new AbortController()
  readonly #runs: Promise<void>[]

  constructor(cluster: RealCluster, token: string, ...selected: readonly ResourceRegistry[]) {
    const { fleet, cache } = this
    const registries = new Registries()
    registries.set(...selected)
    const discovery = new DiscoveryTracker({ fleet, clock, random, logger })
    const run = httpReflectorRunner({ clock, random, logger })
    const controller = new Controller({ registries, fleet, discovery, cache, run, clock, logger })
    cache.onChange({ dropped: ({ gvr }) => this.dropped.push(gvr.resource) })
    this.#runs = [controller.run(this.#abort.signal), discovery.run(this.#abort.signal)]
    const headers = { authorization: `Bearer ${token}` }
    const credentials = new ReplaceableCredentials({ headers, tls: { ca: cluster.caPem } })
    fleet.engage(facts('real'), createMemberClient({ server: cluster.url, credentials, clock, qps: 0 }))
  }

  names(resource: string, group = ''): string[] {
    const snapshot = this.cache.resource({ group, resource })?.snapshot({})
    return Array.from({ length: snapshot?.length ?? 0 }, (_, i) => {
      const { namespace, name } = snapshot?.at(i) ?? assert.fail()
      return `${namespace}/${name}`
    })
  }

  hasShard(resource: string, group = ''): boolean {
    return this.cache.resource({ group, resource })?.shards().length === 1
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    await Promise.all(this.#runs)
    this.fleet.disengage('real' as ClusterName, 'left')
    this.cache.close()
  }
}

async function until(what: string, condition: () => boolean, limitMs = 60_000): Promise<void> {
  const end = clock.monotonicMs() + limitMs
  while (!condition()) {
    if (clock.monotonicMs() > end) throw new Error(`${what}: not within ${limitMs} ms`)
    await delay(20)
  }
}

const POD = (name: string, namespace: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: ${namespace}}
spec: {containers: [{name: app, image: nginx}], automountServiceAccountToken: false}
`

const CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.io}
spec:
  group: example.io
  scope: Namespaced
  names: {plural: foos, singular: foo, kind: Foo}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const FOO = (name: string): string => `
apiVersion: example.io/v1
kind: Foo
metadata: {name: ${name}, namespace: default}
`

const RIGHTS = (namespace: string): string => `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: pods, namespace: ${namespace}}
rules: [{apiGroups: [""], resources: [pods], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pods, namespace: ${namespace}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: pods}
subjects: [{kind: User, name: limited, apiGroup: rbac.authorization.k8s.io}]
`

describe('the controller over a real member', () => {
  let cluster: RealCluster
  const apply = (...documents: string[]): Promise<string> =>
    cluster.kubectl(['apply', '-f', '-'], { input: documents.join('---') })

  before(async () => {
    cluster = await startControlPlane({
      name: 'controller',
      users: [{ name: 'limited', token: 'limited-token' }],
      flags: ['--disable-admission-plugins=ServiceAccount'],
    })
    for (const namespace of ['a', 'b', 'c']) await cluster.kubectl(['create', 'namespace', namespace])
    await apply(POD('pa', 'a'), POD('pb', 'b'), POD('pc', 'c'))
  })
  after(() => cluster.stop())

  it('lists and follows each namespace by itself where the member forbids the list over all', async () => {
    await apply(RIGHTS('a'), RIGHTS('b'))
    const world = new Watching(cluster, 'limited-token', registry('rr', [pods('a'), pods('b')]))
    try {
      await until('both namespaces', () => world.names('pods').join() === 'a/pa,b/pb')
      await apply(POD('pa2', 'a'))
      await until('a new pod', () => world.names('pods').join() === 'a/pa,a/pa2,b/pb', 5_000)
      await cluster.kubectl(['delete', 'pod', 'pa2', '-n', 'a', '--grace-period=0', '--force'])
      await until('a deleted pod', () => world.names('pods').join() === 'a/pa,b/pb', 5_000)
    } finally {
      await world.stop()
    }
  })

  it('C6: follows a CRD that is installed, deleted and made again at once, and leaves other kinds alone', async () => {
    const world = new Watching(cluster, cluster.adminToken, registry('rr', [everything]))
    try {
      await until('pods', () => world.names('pods').length === 3)
      await apply(CRD)
      await cluster.kubectl(['wait', '--for=condition=Established', 'crd/foos.example.io', '--timeout=30s'])
      await apply(FOO('one'))
      await until('the first Foo', () => world.names('foos', 'example.io').join() === 'default/one')

      await cluster.kubectl(['delete', 'crd', 'foos.example.io'])
      await apply(CRD)
      await cluster.kubectl(['wait', '--for=condition=Established', 'crd/foos.example.io', '--timeout=30s'])
      await apply(FOO('two'))
      await until('the second Foo', () => world.names('foos', 'example.io').join() === 'default/two')

      await cluster.kubectl(['delete', 'crd', 'foos.example.io'])
      await until('the end of Foos', () => !world.hasShard('foos', 'example.io'))
      assert.deepEqual(
        world.dropped.filter((resource) => resource !== 'foos'),
        [],
      )
    } finally {
      await world.stop()
    }
  })

  it('C6: loses no kind while the member starts again', async () => {
    await apply(CRD)
    await cluster.kubectl(['wait', '--for=condition=Established', 'crd/foos.example.io', '--timeout=30s'])
    await apply(FOO('kept'))
    const world = new Watching(cluster, cluster.adminToken, registry('rr', [everything]))
    try {
      await until('the Foo', () => world.names('foos', 'example.io').join() === 'default/kept')
      await cluster.restart()
      await apply(FOO('later'))
      await until(
        'what changed meanwhile',
        () => world.names('foos', 'example.io').join() === 'default/kept,default/later',
      )
      await delay(15_000) // a poll of discovery and its confirmation
      assert.deepEqual(world.dropped, [])
    } finally {
      await world.stop()
    }
  })
})

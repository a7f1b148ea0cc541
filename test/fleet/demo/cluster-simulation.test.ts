import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLUSTERS } from '../../../src/fleet/demo/catalogue/clusters.ts'
import { editable } from '../../../src/fleet/demo/object-store.ts'
import {
  controllerOf,
  isActive,
  isReady,
  type KubeObject,
  type Pod,
  type Workload,
} from '../../../src/fleet/demo/objects/kinds.ts'
import { isStored } from '../../../src/fleet/demo/resource-type.ts'
import { ClusterSimulation } from '../../../src/fleet/demo/simulation/cluster-simulation.ts'
import { requestsOf } from '../../../src/fleet/demo/simulation/scheduler.ts'
import { FakeClock } from '../../support/fake-clock.ts'

interface Fixture {
  readonly clock: FakeClock
  readonly simulation: ClusterSimulation
}

function simulate(name: string, seed = 1): Fixture {
  const plan = CLUSTERS.find((cluster) => cluster.name === name)
  assert.ok(plan)
  const clock = new FakeClock()
  return { clock, simulation: new ClusterSimulation(plan, seed, clock) }
}

function all(simulation: ClusterSimulation): KubeObject[] {
  const { store } = simulation
  const types = store.types().filter(isStored)
  return types.flatMap((type) => store.list(type).map((object) => editable(object) as KubeObject))
}

function ofKind<T extends KubeObject>(objects: readonly KubeObject[], kind: string): T[] {
  return objects.filter((object) => object.kind === kind) as T[]
}

/** What must hold at any moment in which the controllers have caught up. */
function checkRelations(objects: readonly KubeObject[]): void {
  const uids = new Set(objects.map(({ metadata }) => metadata.uid))
  assert.equal(uids.size, objects.length, 'every object has a uid of its own')
  const nodes = new Set(ofKind(objects, 'Node').map(({ metadata }) => metadata.name))
  const namespaces = new Set(ofKind(objects, 'Namespace').map(({ metadata }) => metadata.name))
  const names = (kind: string): Set<string> =>
    new Set(ofKind(objects, kind).map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`))
  const accounts = names('ServiceAccount')
  const claims = names('PersistentVolumeClaim')
  for (const object of objects) {
    const { namespace, name, ownerReferences = [] } = object.metadata
    const what = `${object.kind} ${namespace ?? ''}/${name}`
    assert.ok(namespace === undefined || namespaces.has(namespace), `${what} is in a namespace`)
    for (const owner of ownerReferences) assert.ok(uids.has(owner.uid), `the owner of ${what} exists`)
  }
  for (const pod of ofKind<Pod>(objects, 'Pod')) {
    const { name, namespace = '' } = pod.metadata
    assert.ok(pod.spec.nodeName === undefined || nodes.has(pod.spec.nodeName), `${name} is on a node`)
    assert.ok(accounts.has(`${namespace}/${pod.spec.serviceAccountName}`), `${name} has its account`)
    for (const volume of pod.spec.volumes ?? []) {
      const claim = (volume['persistentVolumeClaim'] as { claimName: string } | undefined)?.claimName
      assert.ok(claim === undefined || claims.has(`${namespace}/${claim}`), `${name} finds its claim ${claim ?? ''}`)
    }
  }
}

function checkCounts(objects: readonly KubeObject[]): void {
  const pods = ofKind<Pod>(objects, 'Pod')
  for (const set of ofKind<Workload>(objects, 'ReplicaSet')) {
    const own = pods.filter((pod) => controllerOf(pod)?.uid === set.metadata.uid && isActive(pod))
    assert.equal(own.length, set.spec.replicas, `${set.metadata.name} has its pods`)
    assert.equal(set.status['readyReplicas'] ?? 0, own.filter(isReady).length, `${set.metadata.name} counts ready pods`)
  }
}

/** Every address in an EndpointSlice is a pod's, and every ready pod of a Service is in its slice. */
function checkEndpoints(objects: readonly KubeObject[]): void {
  const pods = new Map(ofKind<Pod>(objects, 'Pod').map((pod) => [pod.metadata.uid, pod]))
  for (const slice of ofKind(objects, 'EndpointSlice')) {
    const endpoints = (slice['endpoints'] ?? []) as {
      addresses: string[]
      conditions: { ready: boolean }
      targetRef: { uid: string }
    }[]
    for (const { addresses, conditions, targetRef } of endpoints) {
      const pod = pods.get(targetRef.uid)
      assert.equal(
        addresses[0],
        pod?.status.podIP,
        `${slice.metadata.name} has the address of ${pod?.metadata.name ?? '?'}`,
      )
      assert.equal(conditions.ready, pod !== undefined && isReady(pod) && isActive(pod))
    }
  }
}

function stateOf(pod: Pod): string {
  const init = (pod.status['initContainerStatuses'] ?? []) as { state: Record<string, { reason?: string }> }[]
  const waiting = [...init, ...(pod.status.containerStatuses ?? [])].map(({ state }) => state['waiting']?.['reason'])
  const last = pod.status.containerStatuses?.[0]?.lastState['terminated']?.['reason']
  if (pod.metadata.deletionTimestamp !== undefined) return 'Terminating'
  if (last === 'OOMKilled') return 'OOMKilled'
  const first = waiting.find((reason) => reason !== undefined && reason !== 'PodInitializing')
  return String(first ?? pod.status.reason ?? pod.status.phase)
}

/** The whole fleet as it begins. */
const fleet = CLUSTERS.map(({ name }) => all(simulate(name).simulation))

test('a fleet of thousands of related objects of more than twenty kinds, custom ones among them', () => {
  assert.ok(fleet.length >= 3)
  for (const objects of fleet) {
    checkRelations(objects)
    checkCounts(objects)
    checkEndpoints(objects)
  }
  const objects = fleet.flat()
  const kinds = new Set(objects.map(({ kind }) => kind))
  assert.ok(objects.length > 3_000, `${objects.length} objects`)
  assert.ok(kinds.size > 30, `${kinds.size} kinds`)
  for (const kind of ['Certificate', 'Application', 'ServiceMonitor', 'CustomResourceDefinition'])
    assert.ok(kinds.has(kind))
})

test('some pods are sick in every way that matters, and events say so', () => {
  const objects = fleet.flat()
  const pods = ofKind<Pod>(objects, 'Pod')
  const states = new Set(pods.map(stateOf))
  const expected = [
    'CrashLoopBackOff',
    'ImagePullBackOff',
    'CreateContainerConfigError',
    'Pending',
    'OOMKilled',
    'Evicted',
    'Terminating',
    'Succeeded',
    'Failed',
    'Running',
  ]
  for (const state of expected) assert.ok(states.has(state), `${state} occurs`)
  const warned = new Set(
    ofKind(objects, 'Event')
      .filter((event) => event['type'] === 'Warning')
      .map((event) => (event['involvedObject'] as { uid: string }).uid),
  )
  for (const pod of pods) {
    const state = stateOf(pod)
    if (!['CrashLoopBackOff', 'ImagePullBackOff', 'CreateContainerConfigError', 'Pending', 'Evicted'].includes(state))
      continue
    assert.ok(warned.has(pod.metadata.uid ?? ''), `${pod.metadata.name} (${state}) has an event`)
  }
  const restartedNginx = pods.filter((pod) =>
    (pod.status.containerStatuses ?? []).some(
      ({ restartCount, ...status }) => restartCount > 0 && String(status['image']).includes('nginx'),
    ),
  )
  assert.ok(
    new Set(restartedNginx.map(({ metadata }) => metadata.namespace)).size >= 2,
    'nginx restarts in several places',
  )
})

test('no node is given more than it has', () => {
  const objects = fleet[0] ?? []
  for (const node of ofKind<Workload>(objects, 'Node')) {
    const pods = ofKind<Pod>(objects, 'Pod').filter((pod) => pod.spec.nodeName === node.metadata.name && isActive(pod))
    const cpu = pods.reduce((sum, pod) => sum + requestsOf(pod.spec).cpu, 0)
    const { allocatable } = node.status as unknown as { allocatable: { cpu: string; pods: string } }
    assert.ok(cpu <= Number.parseInt(allocatable.cpu, 10), `${node.metadata.name}: ${cpu}m of ${allocatable.cpu}`)
    assert.ok(pods.length <= Number(allocatable.pods))
  }
})

test('the same seed gives the same cluster, another seed another', () => {
  const text = (seed: number): string => JSON.stringify(all(simulate('edge-berlin', seed).simulation))
  assert.equal(text(7), text(7))
  assert.notEqual(text(7), text(8))
})

test('objects are older the lower their version', () => {
  const ages = (fleet.at(-1) ?? []).map(
    ({ metadata }) => [Number(metadata['resourceVersion']), String(metadata.creationTimestamp)] as const,
  )
  const sorted = ages.toSorted(([a], [b]) => a - b).map(([, time]) => time)
  assert.deepEqual(sorted, sorted.toSorted())
})

test('a quarter of an hour of life leaves everything consistent, roll-outs done, and nothing behind when it stops', () => {
  const { clock, simulation } = simulate('staging-eu')
  const before = new Map(all(simulation).map(({ metadata }) => [metadata.uid, metadata['resourceVersion']]))
  simulation.start()
  clock.tick(900_000)
  const objects = all(simulation)
  checkRelations(objects)
  const news = objects.filter(({ metadata }) => before.get(metadata.uid) !== metadata['resourceVersion'])
  const kinds = new Set(news.map(({ kind }) => kind))
  for (const kind of [
    'Pod',
    'ReplicaSet',
    'Deployment',
    'EndpointSlice',
    'Job',
    'CronJob',
    'Event',
    'Lease',
    'Node',
    'HorizontalPodAutoscaler',
  ]) {
    assert.ok(kinds.has(kind), `${kind} changed`)
  }
  const pods = ofKind<Pod>(objects, 'Pod')
  const states = pods.map(stateOf)
  for (const state of ['CrashLoopBackOff', 'ImagePullBackOff', 'Pending'])
    assert.ok(states.includes(state), `${state} stays`)
  assert.ok(pods.length < 260, `${pods.length} pods: nothing piles up`)
  const recent = ofKind(objects, 'Event').map((event) => clock.nowMs() - Date.parse(String(event['lastTimestamp'])))
  assert.ok(
    recent.every((age) => age <= 3_601_000),
    'events expire',
  )
  simulation.stop()
  assert.equal(clock.pending, 0)
})

/**
 * The objects of the demo fleet beside a real kube-apiserver 1.36: it takes them under strict validation, and what it
 * stores is what the demo says it would store: no default is missing, no field is made up.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { CLUSTERS } from '../../src/fleet/demo/catalogue/clusters.ts'
import { isStored, type ResourceType } from '../../src/fleet/demo/resource-type.ts'
import { ClusterSimulation } from '../../src/fleet/demo/simulation/cluster-simulation.ts'
import type { StoredObject } from '../../src/fleet/demo/stored-object.ts'
import { resourcePath } from '../../src/kube/group-version.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startControlPlane, type RealCluster } from '../support/real-parts/index.ts'

/** Objects of each kind that are tried; of pods, more, so that each way to fare is among them. */
const SAMPLE = 4

const FLAGS = ['--service-cluster-ip-range=172.20.0.0/16', '--allow-privileged=true']

/** Needed by others, or changing what comes after them: first and last. Controllers' bootstrap objects exist already. */
const FIRST = ['Namespace', 'CustomResourceDefinition', 'PriorityClass', 'StorageClass', 'ServiceAccount']
const LAST = ['LimitRange', 'ResourceQuota']

/** How long some clusters live before they are looked at. */
const LIFE_MS = 600_000

interface Body {
  readonly metadata: Record<string, unknown>
  readonly spec?: Record<string, unknown>
  readonly [key: string]: unknown
}

/** What the server gives by itself, or what only it may set. */
const OWN = [
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'generation',
  'managedFields',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
]

function comparable(body: Body, type: ResourceType): unknown {
  const metadata = Object.fromEntries(Object.entries(body.metadata).filter(([key]) => !OWN.includes(key)))
  // Admission taints a node that nobody has reported ready; with no kubelet here they stay.
  if (type.kind === 'CustomResourceDefinition') return { ...body, metadata, status: {} }
  if (type.kind !== 'Node') return { ...body, metadata }
  const { taints: _taints, ...spec } = body.spec ?? {}
  return { ...body, metadata, spec }
}

function sample(objects: readonly StoredObject[], type: ResourceType): readonly StoredObject[] {
  const sick = ({ value }: StoredObject): boolean =>
    !JSON.stringify(value['status']).includes('"type":"Ready","observedGeneration":1,"status":"True"')
  const size = FIRST.includes(type.kind) ? Infinity : SAMPLE
  if (type.kind === 'Pod')
    return [...objects.filter(sick).slice(0, 25), ...objects.slice(0, 15), ...youngest(objects).slice(0, 15)]
  return [...objects.slice(0, size), ...youngest(objects).slice(0, SAMPLE)]
}

function youngest(objects: readonly StoredObject[]): readonly StoredObject[] {
  return objects.toSorted((a, b) => b.version - a.version)
}

describe('demo objects beside a real API server', () => {
  let cluster: RealCluster
  before(async () => {
    cluster = await startControlPlane({ name: 'demo', flags: FLAGS })
  })
  after(() => cluster.stop())

  for (const { name } of CLUSTERS.filter((plan) => plan.role !== 'production' || plan.provider === 'aws')) {
    test(`what ${name} shows is what the server stores`, { timeout: 240_000 }, async () => {
      const differences = await compareAll(cluster, name)
      assert.equal(differences.join('\n'), '')
    })
  }
})

async function compareAll(cluster: RealCluster, name: string): Promise<string[]> {
  const plan = CLUSTERS.find((candidate) => candidate.name === name)
  assert.ok(plan)
  const clock = new FakeClock(Date.now())
  const simulation = new ClusterSimulation(plan, 1, clock)
  const { store } = simulation
  // One cluster is looked at as it begins, the others after the simulated controllers have worked on them.
  if (plan.role !== 'production') {
    simulation.start()
    clock.tick(LIFE_MS)
    simulation.stop()
  }
  const order = ({ kind }: ResourceType): number =>
    FIRST.includes(kind) ? FIRST.indexOf(kind) - 10 : LAST.includes(kind) ? 10 : 0
  const differences: string[] = []
  for (const type of store
    .types()
    .filter(isStored)
    .toSorted((a, b) => order(a) - order(b))) {
    for (const object of new Set(sample(store.list(type), type))) {
      differences.push(...(await compare(cluster, type, object)))
    }
  }
  return differences
}

async function compare(cluster: RealCluster, type: ResourceType, object: StoredObject): Promise<string[]> {
  const body = JSON.parse(object.document(type)) as Body
  const { resourceVersion: _version, uid: _uid, ...metadata } = body.metadata
  const collection = resourcePath(type, object.namespace)
  const path = resourcePath(type, object.namespace, object.name)
  const what = `${type.kind} ${object.key}`
  const sent = type.kind === 'Job' ? withoutController(body, metadata) : { ...body, metadata }
  const created = await cluster.request(`${collection}?fieldValidation=Strict`, { body: sent })
  if (created.status === 409) return []
  if (created.status !== 201) return [`${what}: ${created.text}`]
  let stored = created.json() as Body
  // Of a CustomResourceDefinition the server itself writes the status, in its own time.
  const subresource =
    type.subresources?.some((sub) => sub.name === 'status') === true && type.kind !== 'CustomResourceDefinition'
  if (subresource && body['status'] !== undefined && !isEmpty(body['status'])) {
    const status = { ...stored, status: body['status'] }
    const written = await cluster.request(`${path}/status?fieldValidation=Strict`, { method: 'PUT', body: status })
    if (written.status !== 200) return [`${what} status: ${written.text}`]
    stored = written.json() as Body
  }
  // A Job's uid stands in its selector and labels too.
  const asOurs = JSON.stringify(stored).replaceAll(String(stored.metadata['uid']), object.metadata.uid)
  return diff(comparable(body, type), comparable(JSON.parse(asOurs) as Body, type), what)
}

/** A Job as its CronJob's controller sends it: the server adds what ties its pods to it. */
function withoutController(body: Body, metadata: Record<string, unknown>): object {
  const strip = (labels: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(labels).filter(([key]) => !/controller-uid|job-name/.test(key)))
  const {
    selector: _selector,
    manualSelector: _manual,
    ...spec
  } = body.spec as { template: Body; [key: string]: unknown }
  const { template } = spec as { template: { metadata: { labels: Record<string, string> } } }
  const labels = strip(template.metadata.labels)
  return {
    ...body,
    metadata: { ...metadata, labels: strip(metadata['labels'] as Record<string, string>) },
    spec: { ...spec, template: { ...template, metadata: { ...template.metadata, labels } } },
  }
}

function isEmpty(value: unknown): boolean {
  return JSON.stringify(value) === '{}'
}

function diff(ours: unknown, theirs: unknown, path: string): string[] {
  if (Object.is(ours, theirs)) return []
  if (typeof ours !== 'object' || typeof theirs !== 'object' || ours === null || theirs === null) {
    return [`${path}: ours ${JSON.stringify(ours)}, the server's ${JSON.stringify(theirs)}`]
  }
  const keys = new Set([...Object.keys(ours), ...Object.keys(theirs)])
  return [...keys].flatMap((key) =>
    diff((ours as Record<string, unknown>)[key], (theirs as Record<string, unknown>)[key], `${path}.${key}`),
  )
}

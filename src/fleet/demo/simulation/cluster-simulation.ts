/** One simulated cluster: filled once, then kept alive by small controllers that react to what changes in the store. */
import type { Clock } from '../../../util/clock.ts'
import { compareUtf8 } from '../../../util/bytes.ts'
import type { ClusterPlan } from '../catalogue/clusters.ts'
import { BUSINESS_APPS } from '../catalogue/business.ts'
import { SCHEDULED_JOBS } from '../catalogue/jobs.ts'
import { PLATFORM_APPS } from '../catalogue/platform.ts'
import type { App, ScheduledJob } from '../catalogue/app.ts'
import { BUILTIN_TYPES } from '../builtin-types.ts'
import { editable, ObjectStore } from '../object-store.ts'
import { resourceQuota } from '../objects/config.ts'
import { controllerOf, type KubeObject, type Workload } from '../objects/kinds.ts'
import type { Service } from '../objects/network.ts'
import { isStored } from '../resource-type.ts'
import { SeededRandom } from '../seeded-random.ts'
import type { StoredObject } from '../stored-object.ts'
import { startChurn } from './churn.ts'
import { Context, EVENT_TTL_MS } from './context.ts'
import { seedCron, startCron } from './cron.ts'
import { Kubelet } from './kubelet.ts'
import { syncDeployment, syncReplicaSet, type PodActions } from './replicas.ts'
import { Scheduler } from './scheduler.ts'
import { seedApp } from './seed-app.ts'
import { CLUSTER_AGE_MS, namespacesOf, seedCluster } from './seed-cluster.ts'
import { seedEvents } from './seed-sick.ts'
import { selects, syncDaemonSet, syncService, syncStatefulSet, type DaemonSet } from './sets.ts'

/** Controllers wait this long after a change, so that a burst of changes is one write. */
const SYNC_DELAY_MS = 80

/** Versions of a cluster of that age: some writes a second, for more than a year. */
const VERSIONS_A_SECOND = 5

export class ClusterSimulation {
  readonly store: ObjectStore
  readonly plan: ClusterPlan
  readonly uid: string
  readonly #context: Context
  readonly #kubelet: Kubelet
  readonly #jobs: readonly ScheduledJob[]
  readonly #dirty = new Set<string>()

  constructor(plan: ClusterPlan, seed: number, clock: Clock) {
    const random = new SeededRandom(seed, plan.name)
    const here = ({ roles }: { roles?: readonly string[] }): boolean => roles === undefined || roles.includes(plan.role)
    const apps = [...PLATFORM_APPS, ...BUSINESS_APPS].filter(here)
    const scheduler = new Scheduler(plan)
    const newUid = (): string => random.uuid()
    const scratch = new ObjectStore({ clock, newUid })
    scratch.register(...BUILTIN_TYPES)
    this.plan = plan
    this.uid = random.uuid()
    this.#jobs = SCHEDULED_JOBS.filter(here)
    populate(new Context({ cluster: plan, apps, store: scratch, clock, random, scheduler }), this.#jobs)
    this.store = aged(scratch, clock, newUid)
    this.#context = new Context({ cluster: plan, apps, store: this.store, clock, random, scheduler })
    this.#kubelet = new Kubelet(this.#context)
  }

  start(): void {
    const context = this.#context
    for (const kind of ['Pod', 'ReplicaSet', 'Deployment']) {
      const type = this.store.types().find((candidate) => candidate.kind === kind)
      if (type !== undefined)
        this.store.subscribe(type, ({ object }) => {
          this.#changed(object)
        })
    }
    for (const event of context.list('v1', 'Event')) {
      context.expire(event, EVENT_TTL_MS - (context.nowMs() - Date.parse(String(event['lastTimestamp']))))
    }
    startChurn(context, this.#kubelet)
    for (const job of this.#jobs) startCron(context, this.#kubelet, job)
  }

  stop(): void {
    this.#context.stop()
  }

  #changed(object: StoredObject): void {
    const changed = editable(object) as KubeObject
    const namespace = object.namespace
    if (changed.kind === 'Deployment') this.#mark('Deployment', namespace, object.name)
    if (changed.kind === 'ReplicaSet') this.#mark('ReplicaSet', namespace, object.name)
    const owner = controllerOf(changed)
    if (owner !== undefined && owner.kind !== 'Job') this.#mark(owner.kind, namespace, owner.name)
    if (changed.kind !== 'Pod') return
    const here = this.#context.list<Service>('v1', 'Service', (service) => service.namespace === namespace)
    for (const service of here) {
      if (selects(service, object)) this.#mark('Service', namespace, service.metadata.name)
    }
  }

  #mark(kind: string, namespace: string, name: string): void {
    if (this.#dirty.size === 0)
      this.#context.after(SYNC_DELAY_MS, () => {
        this.#sync()
      })
    this.#dirty.add(`${kind}/${namespace}/${name}`)
  }

  #sync(): void {
    const keys = [...this.#dirty]
    this.#dirty.clear()
    for (const key of keys) {
      const [kind = '', namespace = '', name = ''] = key.split('/')
      syncOne(this.#context, kind, namespace, name, this.#kubelet)
    }
  }
}

function syncOne(context: Context, kind: string, namespace: string, name: string, actions: PodActions): void {
  const apiVersion = kind === 'Service' ? 'v1' : 'apps/v1'
  const object = context.get<KubeObject>(apiVersion, kind, namespace, name)
  if (object === undefined) return
  if (kind === 'Deployment') syncDeployment(context, object as Workload)
  else if (kind === 'ReplicaSet') syncReplicaSet(context, object as Workload, actions)
  else if (kind === 'StatefulSet') syncStatefulSet(context, object as Workload, actions)
  else if (kind === 'DaemonSet') syncDaemonSet(context, object as DaemonSet, actions)
  else if (kind === 'Service') syncService(context, object as Service)
}

function populate(context: Context, jobs: readonly ScheduledJob[]): void {
  seedCluster(context)
  // Daemons first: they run on every node, whatever else there is. What asks for most comes before the rest.
  const order = (app: App): number => (app.kind === 'DaemonSet' ? 0 : app.nodePool === undefined ? 2 : 1)
  for (const app of context.apps.toSorted((a, b) => order(a) - order(b))) seedApp(context, app)
  for (const job of jobs) seedCron(context, job)
  seedEvents(context)
  // Everything is there already: controllers only write down what they see.
  const nothing: PodActions = { create: () => undefined, stop: () => undefined }
  for (const kind of ['ReplicaSet', 'Deployment', 'StatefulSet', 'DaemonSet', 'Service']) {
    for (const { metadata } of context.list(kind === 'Service' ? 'v1' : 'apps/v1', kind)) {
      syncOne(context, kind, metadata.namespace ?? '', metadata.name, nothing)
    }
  }
  seedQuotas(context)
}

function seedQuotas(context: Context): void {
  for (const [name, team] of namespacesOf(context.apps)) {
    const pods = context.pods().filter((pod) => pod.metadata.namespace === name).length
    if (team !== '' && team !== 'platform') context.put(resourceQuota(name, pods, context.nowMs() - CLUSTER_AGE_MS / 2))
  }
}

/** The same objects under versions that grow with their age, as if each had been written when it says. */
function aged(scratch: ObjectStore, clock: Clock, newUid: () => string): ObjectStore {
  const store = new ObjectStore({ clock, newUid })
  store.register(...scratch.types())
  const objects = scratch
    .types()
    .filter(isStored)
    .flatMap((type) => scratch.list(type))
  const createdOf = (object: StoredObject): string => String(object.metadata['creationTimestamp'])
  const bornMs = clock.nowMs() - CLUSTER_AGE_MS
  for (const object of objects.toSorted((a, b) => compareUtf8(createdOf(a), createdOf(b)))) {
    const ageMs = Math.max(0, Date.parse(createdOf(object)) - bornMs)
    store.advance(1 + Math.floor((ageMs / 1_000) * VERSIONS_A_SECOND))
    store.put({ ...editable(object), metadata: { ...object.metadata } })
  }
  store.advance(Math.floor((CLUSTER_AGE_MS / 1_000) * VERSIONS_A_SECOND))
  store.compact()
  return store
}

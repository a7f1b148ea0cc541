/** What every part of one simulated cluster works with: its objects, its time, its chance. */
import type { Clock } from '../../../util/clock.ts'
import type { ClusterPlan } from '../catalogue/clusters.ts'
import type { App } from '../catalogue/app.ts'
import { makeEvent, type EventDraft } from '../objects/event.ts'
import type { KubeObject, OwnerReference, Pod, Workload } from '../objects/kinds.ts'
import { editable, type ObjectStore } from '../object-store.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { StoredObject } from '../stored-object.ts'
import type { Scheduler } from './scheduler.ts'

/** Events live for an hour, as `--event-ttl` has it. */
export const EVENT_TTL_MS = 3_600_000

export interface ContextOptions {
  readonly cluster: ClusterPlan
  readonly apps: readonly App[]
  readonly store: ObjectStore
  readonly clock: Clock
  readonly random: SeededRandom
  readonly scheduler: Scheduler
}

export class Context {
  readonly cluster: ClusterPlan
  readonly apps: readonly App[]
  readonly store: ObjectStore
  readonly random: SeededRandom
  readonly scheduler: Scheduler
  readonly #clock: Clock
  readonly #timers = new Set<() => void>()
  /** What an event is about, why and what it says → its name. */
  readonly #repeatable = new Map<string, { readonly namespace: string; readonly name: string }>()
  readonly #addresses = new Set<string>()
  #stopped = false

  constructor({ cluster, apps, store, clock, random, scheduler }: ContextOptions) {
    this.cluster = cluster
    this.apps = apps
    this.store = store
    this.random = random
    this.scheduler = scheduler
    this.#clock = clock
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  /** Calls back once after `ms`, unless the simulation stops before. */
  after(ms: number, callback: () => void): void {
    if (this.#stopped) return
    const cancel = this.#clock.setTimeout(() => {
      this.#timers.delete(cancel)
      callback()
    }, ms)
    this.#timers.add(cancel)
  }

  /** Calls back again and again, each time after a wait between `low` and `high` ms. */
  every(low: number, high: number, callback: () => void): void {
    this.after(this.random.int(low, high), () => {
      callback()
      this.every(low, high, callback)
    })
  }

  stop(): void {
    this.#stopped = true
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
  }

  put(object: KubeObject): KubeObject {
    return editable(this.store.put(object)) as KubeObject
  }

  /** Undefined where it is gone. */
  get<T extends KubeObject>(apiVersion: string, kind: string, namespace: string, name: string): T | undefined {
    const type = this.store.typeOfKind(apiVersion, kind)
    const found = type === undefined ? undefined : this.store.get(type, namespace, name)
    return found === undefined ? undefined : (editable(found) as T)
  }

  /** Those that `wanted` accepts; by default all. */
  list<T extends KubeObject>(apiVersion: string, kind: string, wanted?: (object: StoredObject) => boolean): T[] {
    const type = this.store.typeOfKind(apiVersion, kind)
    if (type === undefined) return []
    const found = wanted === undefined ? this.store.list(type) : this.store.list(type).filter(wanted)
    return found.map((object) => editable(object) as T)
  }

  remove({ apiVersion, kind, metadata }: KubeObject): void {
    const type = this.store.typeOfKind(apiVersion, kind)
    if (type !== undefined) this.store.delete(type, metadata.namespace, metadata.name)
  }

  pods(wanted?: (object: StoredObject) => boolean): Pod[] {
    return this.list<Pod>('v1', 'Pod', wanted)
  }

  podsOf(owner: KubeObject): Pod[] {
    return this.pods((pod) => isOwnedBy(pod, owner))
  }

  replicaSetsOf(owner: KubeObject): Workload[] {
    return this.list<Workload>('apps/v1', 'ReplicaSet', (set) => isOwnedBy(set, owner))
  }

  /** An address for a Service that no other has. */
  serviceAddress(): string {
    const address = `172.20.${this.cluster.octet + this.random.int(1, 3)}.${this.random.int(2, 250)}`
    if (this.#addresses.has(address)) return this.serviceAddress()
    this.#addresses.add(address)
    return address
  }

  app(namespace: string, name: string): App | undefined {
    return this.apps.find((app) => app.namespace === namespace && app.name === name)
  }

  /** Records an event of now; one that repeats counts up, as the recorder's correlator does. */
  event(draft: Omit<EventDraft, 'firstMs' | 'lastMs' | 'count'>): void {
    const nowMs = this.nowMs()
    const key = `${draft.about.metadata.uid ?? ''} ${draft.reason} ${draft.message}`
    const known = this.#repeatable.get(key)
    const same = known === undefined ? undefined : this.get('v1', 'Event', known.namespace, known.name)
    const count = Number(same?.['count'] ?? 0) + 1
    const fresh = makeEvent({ ...draft, firstMs: nowMs, lastMs: nowMs, count }, this.random)
    if (same !== undefined) {
      this.put({ ...fresh, metadata: same.metadata, firstTimestamp: same['firstTimestamp'] })
      return
    }
    const { namespace = '', name } = fresh.metadata
    this.#repeatable.set(key, { namespace, name })
    this.expire(this.put(fresh), EVENT_TTL_MS, key)
  }

  /** Removes an event when its time has come, unless it was repeated in between. */
  expire(event: KubeObject, afterMs: number, key = ''): void {
    this.after(afterMs, () => {
      const { namespace = '', name } = event.metadata
      const now = this.get('v1', 'Event', namespace, name)
      if (now === undefined) return
      const idleMs = this.nowMs() - Date.parse(String(now['lastTimestamp']))
      if (idleMs < EVENT_TTL_MS - 1_000) {
        this.expire(now, EVENT_TTL_MS - idleMs, key)
        return
      }
      this.#repeatable.delete(key)
      this.remove(now)
    })
  }
}

function isOwnedBy(object: StoredObject, owner: KubeObject): boolean {
  const owners = object.metadata['ownerReferences'] as readonly OwnerReference[] | undefined
  return owners?.some(({ uid, controller }) => controller === true && uid === owner.metadata.uid) === true
}

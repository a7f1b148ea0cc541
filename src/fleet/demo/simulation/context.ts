/** What every part of one simulated cluster works with: its objects, its time, its chance. */
import type { Clock } from '../../../util/clock.ts'
import type { ClusterPlan } from '../catalogue/clusters.ts'
import type { App } from '../catalogue/app.ts'
import { makeEvent, type EventDraft } from '../objects/event.ts'
import type { KubeObject, Pod, Workload } from '../objects/kinds.ts'
import { controllerOf } from '../objects/kinds.ts'
import { editable, type ObjectStore } from '../object-store.ts'
import type { SeededRandom } from '../seeded-random.ts'
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

  list<T extends KubeObject>(apiVersion: string, kind: string): T[] {
    const type = this.store.typeOfKind(apiVersion, kind)
    return type === undefined ? [] : this.store.list(type).map((object) => editable(object) as T)
  }

  remove({ apiVersion, kind, metadata }: KubeObject): void {
    const type = this.store.typeOfKind(apiVersion, kind)
    if (type !== undefined) this.store.delete(type, metadata.namespace, metadata.name)
  }

  pods(): Pod[] {
    return this.list<Pod>('v1', 'Pod')
  }

  podsOf(owner: KubeObject): Pod[] {
    return this.pods().filter((pod) => controllerOf(pod)?.uid === owner.metadata.uid)
  }

  replicaSetsOf(owner: KubeObject): Workload[] {
    return this.list<Workload>('apps/v1', 'ReplicaSet').filter((set) => controllerOf(set)?.uid === owner.metadata.uid)
  }

  app(namespace: string, name: string): App | undefined {
    return this.apps.find((app) => app.namespace === namespace && app.name === name)
  }

  /** Records an event of now; one that repeats counts up, as the recorder's correlator does. */
  event(draft: Omit<EventDraft, 'firstMs' | 'lastMs' | 'count'>): void {
    const nowMs = this.nowMs()
    const same = this.list('v1', 'Event').find((event) => repeats(event, draft))
    if (same === undefined) {
      this.expire(this.put(makeEvent({ ...draft, firstMs: nowMs, lastMs: nowMs, count: 1 }, this.random)), EVENT_TTL_MS)
      return
    }
    const count = Number(same['count']) + 1
    const fresh = makeEvent({ ...draft, firstMs: nowMs, lastMs: nowMs, count }, this.random)
    this.put({ ...fresh, metadata: same.metadata, firstTimestamp: same['firstTimestamp'] })
  }

  /** Removes an event when its time has come, unless it was repeated in between. */
  expire(event: KubeObject, afterMs: number): void {
    this.after(afterMs, () => {
      const { namespace = '', name } = event.metadata
      const now = this.get('v1', 'Event', namespace, name)
      if (now === undefined) return
      const idleMs = this.nowMs() - Date.parse(String(now['lastTimestamp']))
      if (idleMs >= EVENT_TTL_MS - 1_000) this.remove(now)
      else this.expire(now, EVENT_TTL_MS - idleMs)
    })
  }
}

function repeats(event: KubeObject, draft: Omit<EventDraft, 'firstMs' | 'lastMs' | 'count'>): boolean {
  const about = event['involvedObject'] as { uid: string }
  const same = about.uid === draft.about.metadata.uid
  return same && event['reason'] === draft.reason && event['message'] === draft.message
}

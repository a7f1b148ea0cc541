/**
 * The cache: registered resources, their shards, and who listens to them.
 *
 *     const cache = new Cache({ clock: systemClock })
 *     cache.register({ group: '', version: 'v1', resource: 'pods' }, 'Pod', true)
 *     const writer = cache.openShard({ cluster, clusterUid, gvr, kind: 'Pod', namespaced: true }) // for a reflector
 *     cache.resource({ group: '', resource: 'pods' })?.snapshot({ namespace: 'shop' })
 */
import { groupResourceKey, gvrKey, type GroupResource, type GroupVersionResource } from '../kube/group-version.ts'
import type { Registry } from '../telemetry/metrics.ts'
import type { Clock } from '../util/clock.ts'
import { CacheMetrics } from './cache-metrics.ts'
import type { CacheListener, CacheReader } from './reader.ts'
import { Resource } from './resource.ts'
import type { Shard } from './shard.ts'
import { ShardHandle, type ShardOwner } from './shard-handle.ts'
import { WindowBudget } from './watch-window.ts'
import type { CacheWriter, ShardSpec, ShardWriter } from './writer.ts'

export interface CacheOptions {
  readonly clock: Clock
  /** Bytes that the watch windows of all resources may hold together. Default 128 MiB. */
  readonly windowBytes?: number
  /** How far back the windows reach, as far as the bytes suffice. Default 5 minutes, as long as etcd keeps revisions. */
  readonly windowMs?: number
  /** Of one resource of one cluster; more are a fault of that shard. Default: as many as memory holds. */
  readonly maxObjects?: number
  readonly metrics?: Registry
}

const WINDOW_BYTES = 128 * 1024 * 1024
const WINDOW_MS = 5 * 60_000
const TICK_MS = 15_000

export class Cache implements CacheReader, CacheWriter, ShardOwner {
  readonly #clock: Clock
  readonly #budget: WindowBudget
  readonly #windowMs: number
  readonly #maxObjects: number
  readonly #metrics: CacheMetrics | undefined
  readonly #resources = new Map<string, Resource>()
  readonly #listeners = new Set<CacheListener>()
  /** The newest handle of each shard: the one that may write. */
  readonly #handles = new WeakMap<Shard, ShardWriter>()
  #cancelTick: (() => void) | undefined

  constructor({ clock, windowBytes, windowMs, maxObjects = Infinity, metrics }: CacheOptions) {
    this.#clock = clock
    this.#budget = new WindowBudget(windowBytes ?? WINDOW_BYTES)
    this.#windowMs = windowMs ?? WINDOW_MS
    this.#maxObjects = maxObjects
    this.#metrics = metrics && new CacheMetrics(metrics, () => this.#resources.values())
  }

  resources(): readonly Resource[] {
    return [...this.#resources.values()]
  }

  resource(groupResource: GroupResource): Resource | undefined {
    return this.#resources.get(groupResourceKey(groupResource))
  }

  onChange(listener: CacheListener): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Another version, kind, scope or redaction of a registered resource takes its place; its shards are dropped. */
  register(gvr: GroupVersionResource, kind: string, namespaced: boolean, redaction = ''): void {
    this.#registered(gvr, kind, namespaced, redaction)
  }

  unregister(groupResource: GroupResource): void {
    const key = groupResourceKey(groupResource)
    const resource = this.#resources.get(key)
    if (resource === undefined) return
    this.#resources.delete(key)
    resource.close()
  }

  openShard(spec: ShardSpec): ShardWriter {
    const shard = this.#registered(spec.gvr, spec.kind, spec.namespaced, spec.redaction ?? '').open(spec)
    const handle = new ShardHandle(shard, this)
    this.#handles.set(shard, handle)
    return handle
  }

  /** Stops the timer; for the end of the process and of tests. */
  close(): void {
    for (const resource of this.resources()) this.unregister(resource.gvr)
    this.#cancelTick?.()
    this.#cancelTick = undefined
  }

  isCurrent(handle: ShardHandle): boolean {
    return this.#handles.get(handle.shard) === handle && !handle.shard.closed
  }

  drop(shard: Shard): void {
    this.resource(shard.gvr)?.drop(shard)
  }

  #registered(gvr: GroupVersionResource, kind: string, namespaced: boolean, redaction: string): Resource {
    const known = this.resource(gvr)
    if (known !== undefined) {
      const isSame = gvrKey(known.gvr) === gvrKey(gvr) && known.kind === kind && known.namespaced === namespaced
      if (isSame && known.redaction === redaction) return known
      this.unregister(gvr)
    }
    const resource = new Resource(gvr, kind, namespaced, redaction, {
      clock: this.#clock,
      budget: this.#budget,
      windowMs: this.#windowMs,
      maxObjects: this.#maxObjects,
      listeners: this.#listeners,
      counted: (counted, what) => this.#metrics?.count(counted, what),
      busy: () => this.#tickSoon(),
    })
    this.#resources.set(groupResourceKey(gvr), resource)
    return resource
  }

  /** One timer for all resources, only while one of them has watchers or a past. */
  #tickSoon(): void {
    this.#cancelTick ??= this.#clock.setTimeout(() => {
      this.#cancelTick = undefined
      for (const resource of this.#resources.values()) resource.tick()
      if (this.resources().some((resource) => resource.isBusy)) this.#tickSoon()
    }, TICK_MS)
  }
}

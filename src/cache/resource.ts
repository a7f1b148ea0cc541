/** All clusters' shards of one resource: what readers see of it, and the window that its watchers read. */
import type { GroupVersionResource } from '../kube/group-version.ts'
import type { VersionMap } from '../kube/multi-cluster-version.ts'
import type { ClusterName, ResourceVersion } from '../kube/names.ts'
import { compareUtf8 } from '../util/bytes.ts'
import type { Clock } from '../util/clock.ts'
import { KeyBuffer } from './key-buffer.ts'
import { selectPast } from './past-selection.ts'
import { PastViews } from './past.ts'
import type { CachedObject, CacheEvent, CacheListener, ResourceReader, ShardState } from './reader.ts'
import type { Snapshot, SnapshotFilter, WatchItem, WatchOptions } from './reader.ts'
import { standingOf } from './resume.ts'
import { sizeOf } from './record.ts'
import type { ShardChange } from './shard-changes.ts'
import type { ChangeMoment } from './shard-progress.ts'
import { Shard, type ShardSink } from './shard.ts'
import { FleetSnapshot, selectObjects, type Selected, type SelectedPart } from './snapshot.ts'
import { VersionVector } from './version-vector.ts'
import { WatchWindow, type WindowBudget } from './watch-window.ts'
import { Watcher, type WatchSource } from './watcher.ts'
import type { ShardSpec } from './writer.ts'

/** What a resource shares with all others. */
export interface ResourceContext {
  readonly clock: Clock
  readonly budget: WindowBudget
  readonly windowMs: number
  readonly maxObjects: number
  readonly listeners: ReadonlySet<CacheListener>
  /** For metrics. */
  counted(resource: Resource, what: CacheEvent['type'] | 'EXPIRED'): void
  /** A watcher or an entry of the window appeared: `tick` wants to be called. */
  busy(): void
}

/** What an entry costs besides its objects' bytes: a few small objects, and a version for each cluster. */
const ENTRY_BYTES = 600
const VERSION_BYTES = 8
/** Bookmarks of many members become one in this time. */
const BOOKMARK_MS = 1_000

export class Resource implements ResourceReader, ShardSink, WatchSource {
  readonly gvr: GroupVersionResource
  readonly kind: string
  readonly namespaced: boolean
  readonly redaction: string
  readonly window: WatchWindow
  readonly past: PastViews
  readonly #context: ResourceContext
  readonly #shards = new Map<ClusterName, Shard>()
  readonly #watchers = new Set<Watcher>()
  /** Where shards stood when they left: versions up to there say nothing about a later shard of that name. */
  readonly #departed = new Map<ClusterName, ResourceVersion>()
  readonly #key = new KeyBuffer()
  #sorted: readonly Shard[] | undefined
  #vector = VersionVector.EMPTY
  #closed = false
  #flushDue = false
  #bookmarkDue = false

  constructor(
    gvr: GroupVersionResource,
    kind: string,
    namespaced: boolean,
    redaction: string,
    context: ResourceContext,
  ) {
    this.gvr = gvr
    this.kind = kind
    this.namespaced = namespaced
    this.redaction = redaction
    this.#context = context
    this.window = new WatchWindow(context.budget, context.clock, context.windowMs)
    this.past = new PastViews(this.window)
  }

  get redacted(): boolean {
    return this.redaction !== ''
  }

  get clock(): Clock {
    return this.#context.clock
  }

  get vector(): VersionVector {
    return this.#vector
  }

  get closed(): boolean {
    return this.#closed
  }

  get watchers(): number {
    return this.#watchers.size
  }

  /** Whether `tick` has anything to look after. */
  get isBusy(): boolean {
    return this.#watchers.size > 0 || this.window.length > 0
  }

  // Reading

  shards(): readonly ShardState[] {
    return this.allShards().map((shard) => shard.state())
  }

  versions(): VersionMap {
    return this.#vector
  }

  covers(versions: VersionMap): boolean {
    const standing = standingOf(
      versions,
      () => true,
      (cluster) => this.#shards.get(cluster),
    )
    return standing.state !== 'expired'
  }

  get(cluster: ClusterName, namespace: string, name: string): CachedObject | undefined {
    const shard = this.#shards.get(cluster)
    if (shard === undefined || !shard.synced) return undefined
    const index = shard.content.find(this.#key.set(namespace, name))
    return index === -1 ? undefined : shard.content.object(shard.content.order.at(index))
  }

  snapshot(filter: SnapshotFilter): Snapshot {
    const { clusters, asOf } = filter
    const scoped = this.#scoped(filter)
    const parts: Selected[] = []
    let left = filter.limit ?? Number.POSITIVE_INFINITY
    let remaining = 0
    for (const shard of this.allShards()) {
      if (clusters?.has(shard.cluster) === false || asOf?.has(shard.cluster) === false) continue
      // The pages that follow are made of what was told since.
      if (asOf !== undefined || filter.isPaged === true) shard.settle()
      const taken = this.#select(shard, scoped, left)
      left -= taken.selection.length
      remaining += taken.remaining
      if (taken.selection.length > 0) parts.push(taken.selection)
    }
    const versions = asOf === undefined ? this.#vector : VersionVector.of(asOf)
    return new FleetSnapshot(parts, remaining, clusters === undefined ? versions : versions.only(clusters))
  }

  #select(shard: Shard, filter: SnapshotFilter, limit: number): SelectedPart {
    const version = filter.asOf?.get(shard.cluster)
    const past = version === undefined || !shard.synced ? undefined : this.past.at(shard, version)
    return past === undefined ? selectObjects(shard, filter, limit) : selectPast(past, filter, limit)
  }

  watch(options: WatchOptions): AsyncIterable<readonly WatchItem[]> {
    return new Watcher(this, this.#scoped(options)).run()
  }

  allShards(): readonly Shard[] {
    this.#sorted ??= [...this.#shards.values()].sort((a, b) => compareUtf8(a.cluster, b.cluster))
    return this.#sorted
  }

  shard(cluster: ClusterName): Shard | undefined {
    return this.#shards.get(cluster)
  }

  /** Objects without namespaces have the empty one; elsewhere the empty one means all. */
  #scoped<Filter extends { readonly namespace?: string }>(filter: Filter): Filter {
    const { namespace, ...rest } = filter
    if (!this.namespaced) return { ...rest, namespace: '' } as Filter
    return namespace === '' ? (rest as Filter) : filter
  }

  // Writing

  /** A shard of another cluster under the same name is dropped; one of the same cluster stays as it is. */
  open(spec: ShardSpec): Shard {
    const known = this.#shards.get(spec.cluster)
    if (known !== undefined && known.clusterUid === spec.clusterUid) {
      known.abandonReplacements()
      known.setNamespaces(spec.namespaces)
      return known
    }
    if (known !== undefined) this.drop(known)
    const shard = new Shard(spec, this, this.#context.clock, this.#context.maxObjects)
    shard.history.supersede(this.#departed.get(spec.cluster))
    this.#shards.set(spec.cluster, shard)
    this.#sorted = undefined
    return shard
  }

  drop(shard: Shard): void {
    if (this.#shards.get(shard.cluster) !== shard) return
    this.#shards.delete(shard.cluster)
    this.#sorted = undefined
    if (shard.synced) {
      this.#departed.set(shard.cluster, shard.version)
      this.#vector = this.#vector.without(shard.cluster)
      this.window.push({ kind: 'left', shard, atMs: this.clock.monotonicMs() })
      this.#context.busy()
    }
    shard.close()
    this.#wakeSoon()
    for (const listener of this.#context.listeners) listener.dropped?.(this, shard.cluster)
  }

  /** Nobody registers it any more. */
  close(): void {
    for (const shard of this.allShards()) this.drop(shard)
    this.#closed = true
    this.#context.budget.delete(this.window)
    this.#wakeSoon()
  }

  changed(shard: Shard, { type, object, previous }: ShardChange, { before, after, atMs }: ChangeMoment): void {
    this.#vector = this.#vector.with(shard.cluster, after)
    const versions = this.#vector
    const event: CacheEvent = { type, object, previous, versions }
    const item: WatchItem = { type: 'EVENT', event, versions }
    const previousBytes = previous === undefined || previous === object ? 0 : sizeOf(previous)
    const bytes = sizeOf(object) + previousBytes + ENTRY_BYTES + VERSION_BYTES * versions.size
    const position = this.window.end
    this.window.push({ kind: 'change', shard, event, item, versions, position, before, after, bytes, atMs })
    this.#context.counted(this, type)
    this.#context.busy()
    this.#wakeSoon()
    this.#tell(shard, type === 'DELETED' && previous !== undefined ? previous : object, type === 'DELETED')
  }

  moved(shard: Shard): void {
    this.#vector = this.#vector.with(shard.cluster, shard.version)
    this.#wakeSoon()
    if (this.#bookmarkDue || this.#watchers.size === 0) return
    this.#bookmarkDue = true
    this.clock.setTimeout(() => {
      this.#bookmarkDue = false
      for (const watcher of this.#watchers) watcher.wake(true)
    }, BOOKMARK_MS)
  }

  listed(shard: Shard, first: boolean): void {
    if (first) {
      this.window.push({ kind: 'joined', shard, versions: this.#vector, atMs: this.clock.monotonicMs() })
      this.#vector = this.#vector.with(shard.cluster, shard.version)
      this.#context.busy()
      this.#wakeSoon()
    }
    for (const listener of this.#context.listeners) listener.synced?.(this, shard.cluster)
  }

  #tell({ cluster }: Shard, object: CachedObject, deleted: boolean): void {
    for (const listener of this.#context.listeners) {
      listener.changed?.(this, cluster, object.namespace, object.name, object.uid, deleted)
    }
  }

  // Watchers

  attach(watcher: Watcher): void {
    this.#watchers.add(watcher)
    this.#context.busy()
  }

  detach(watcher: Watcher, expired: boolean): void {
    this.#watchers.delete(watcher)
    if (expired) this.#context.counted(this, 'EXPIRED')
  }

  /** Housekeeping, every few seconds while busy. */
  tick(): void {
    this.window.evictOld()
    this.past.prune()
    for (const watcher of this.#watchers) watcher.tick()
  }

  /** What happens within one turn of the event loop reaches watchers together. */
  #wakeSoon(): void {
    if (this.#flushDue || this.#watchers.size === 0) return
    this.#flushDue = true
    setImmediate(() => {
      this.#flushDue = false
      for (const watcher of this.#watchers) watcher.wake()
    })
  }
}

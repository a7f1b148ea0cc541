/**
 * One watch: a position in the resource's window, and what of each shard the watcher has been given. It holds no queue: a
 * consumer that is slower than the window loses its place and is cut.
 *
 * For each shard it knows the position from which that shard's events count: behind the versions it resumed from, or
 * behind the moment at which it was given the shard's objects. From `#exactFrom` on they all count, and what the watcher
 * has seen is what the events themselves say.
 */
import type { VersionMap } from '../kube/multi-cluster-version.ts'
import type { ClusterName, ResourceVersion } from '../kube/names.ts'
import type { Clock } from '../util/clock.ts'
import type { CachedObject, WatchItem, WatchOptions } from './reader.ts'
import { PARTIAL, standingOf } from './resume.ts'
import type { Shard } from './shard.ts'
import { selectObjects, type ShardSelection } from './snapshot.ts'
import { VersionVector } from './version-vector.ts'
import type { ChangeEntry, WatchWindow, WindowEntry } from './watch-window.ts'

/** What a watcher sees of its resource. */
export interface WatchSource {
  readonly clock: Clock
  readonly window: WatchWindow
  /** Of all synced shards. */
  readonly vector: VersionVector
  /** Nobody registers the resource any more. */
  readonly closed: boolean
  allShards(): readonly Shard[]
  shard(cluster: ClusterName): Shard | undefined
  attach(watcher: Watcher): void
  detach(watcher: Watcher, expired: boolean): void
}

/** How long a watch from the future waits for its shards to get there; as a kube-apiserver's fresh reads. */
const AHEAD_MS = 5_000
/** After so long without any item there is a bookmark; as a kube-apiserver. */
const QUIET_MS = 60_000
/** Items of a batch: about a megabyte of pods. */
const BATCH = 256

interface Initial {
  readonly shard: Shard
  readonly version: ResourceVersion
  readonly selection: ShardSelection
  next: number
}

export class Watcher {
  readonly #source: WatchSource
  readonly #options: WatchOptions
  readonly #from = new Map<Shard, number>()
  #position = 0
  #exactFrom = 0
  #seen = VersionVector.EMPTY
  #initials: Initial[] = []
  #phase: 'starting' | 'initial' | 'live' = 'starting'
  #expired: string | undefined
  #bookmarkDue = false
  #lastItemMs: number
  #resume: (() => void) | undefined
  /** The last vector reduced to the clusters asked for. */
  #reduced: { readonly of: VersionVector; readonly to: VersionVector } | undefined

  constructor(source: WatchSource, options: WatchOptions) {
    this.#source = source
    this.#options = options
    this.#lastItemMs = source.clock.monotonicMs()
  }

  async *run(): AsyncGenerator<readonly WatchItem[], void, void> {
    const { signal } = this.#options
    const wake = (): void => this.wake()
    signal.addEventListener('abort', wake, { once: true })
    this.#source.attach(this)
    try {
      await this.#start()
      while (!signal.aborted) {
        this.#checkPlace()
        if (this.#expired !== undefined) {
          yield [{ type: 'EXPIRED', message: this.#expired }]
          return
        }
        const batch = this.#batch()
        if (batch.length > 0) {
          this.#lastItemMs = this.#source.clock.monotonicMs()
          yield batch
        } else if (this.#expired === undefined) {
          await this.#wait()
        }
      }
    } finally {
      signal.removeEventListener('abort', wake)
      this.#source.detach(this, this.#expired !== undefined)
    }
  }

  /** There may be news. With `bookmark`, versions may have moved without an event. */
  wake(bookmark = false): void {
    if (bookmark) this.#bookmarkDue = true
    this.#checkPlace()
    const resume = this.#resume
    this.#resume = undefined
    resume?.()
  }

  /** Called now and then: brings a bookmark after a quiet minute. */
  tick(): void {
    if (this.#source.clock.monotonicMs() - this.#lastItemMs >= QUIET_MS) this.wake(true)
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#resume = resolve
    })
  }

  /** Cuts a watcher that lost its place also while nobody asks it for items, so that it holds no snapshot. */
  #checkPlace(): void {
    if (this.#source.closed) this.#expire('the resource is no longer registered')
    else if (this.#phase !== 'starting' && this.#position < this.#source.window.start) {
      this.#expire('too old resource version: the watch fell behind the events that are kept')
    }
  }

  #expire(message: string): void {
    if (this.#expired !== undefined) return
    this.#expired = message
    this.#initials = []
    this.#options.onExpired?.(message)
  }

  #inScope(cluster: ClusterName): boolean {
    return this.#options.clusters === undefined || this.#options.clusters.has(cluster)
  }

  async #start(): Promise<void> {
    const { from } = this.#options
    if (from !== undefined) await this.#arrive(from)
    if (this.#expired !== undefined) return
    const { window } = this.#source
    for (const shard of this.#source.allShards()) shard.settle()
    this.#position = window.end
    this.#exactFrom = window.end
    for (const shard of this.#source.allShards()) {
      if (!shard.synced || !this.#inScope(shard.cluster)) continue
      const version = from?.get(shard.cluster)
      if (version === undefined) this.#join(shard)
      else this.#resumeShard(shard, version)
    }
    this.#phase = 'initial'
  }

  /** Waits until every shard that `from` names has got there; expires where one never will, or not soon enough. */
  async #arrive(from: VersionMap): Promise<void> {
    let late = false
    const cancel = this.#source.clock.setTimeout(() => {
      late = true
      this.wake()
    }, AHEAD_MS)
    while (!this.#options.signal.aborted) {
      this.#checkPlace()
      if (this.#expired !== undefined) break
      const standing = standingOf(
        from,
        (cluster) => this.#inScope(cluster),
        (cluster) => this.#source.shard(cluster),
      )
      if (standing.state === 'ready') break
      if (standing.state === 'expired') this.#expire(standing.message)
      else if (late) this.#expire(`too large resource version: cluster ${standing.cluster} has not got there`)
      else await this.#wait()
    }
    cancel()
  }

  #resumeShard(shard: Shard, version: ResourceVersion): void {
    const point = shard.history.resume(version, shard.version, this.#source.window.end)
    if (typeof point !== 'number') return this.#expire(`too old resource version: ${version} of ${shard.cluster}`)
    this.#from.set(shard, point)
    this.#position = Math.min(this.#position, point)
    this.#seen = this.#seen.with(shard.cluster, version)
  }

  /** The shard's objects of this moment come next, and of its events those from now on. */
  #join(shard: Shard): void {
    const { end } = this.#source.window
    const { selection } = selectObjects(shard, this.#options, Number.POSITIVE_INFINITY)
    this.#initials.push({ shard, version: shard.version, selection, next: 0 })
    this.#from.set(shard, end)
    this.#exactFrom = end
  }

  #batch(): WatchItem[] {
    const items: WatchItem[] = []
    // Events may bring a shard whose objects come first, hence the loop.
    do {
      this.#addInitials(items)
      if (this.#initials.length > 0) return items
      if (this.#phase === 'initial') {
        this.#phase = 'live'
        items.push({ type: 'INITIAL_END', versions: this.#seen })
      }
      this.#addEvents(items)
    } while (this.#initials.length > 0)
    if (this.#bookmarkDue && this.#position === this.#source.window.end) {
      this.#addBookmark(items)
    }
    return items
  }

  /**
   * The last object of a cluster brings its version. The ones before say `PARTIAL`, which cannot be resumed from: a client
   * that has some of the objects would not hear of their deletion.
   */
  #addInitials(items: WatchItem[]): void {
    for (let initial = this.#initials[0]; initial !== undefined; initial = this.#initials[0]) {
      const { selection, shard, version } = initial
      const partial = this.#seen.with(shard.cluster, PARTIAL)
      const complete = this.#seen.with(shard.cluster, version)
      for (; initial.next < selection.length; initial.next++) {
        if (items.length === BATCH) return
        const versions = initial.next === selection.length - 1 ? complete : partial
        items.push({ type: 'INITIAL', object: selection.at(initial.next), versions })
      }
      this.#seen = complete
      this.#initials.shift()
    }
  }

  #addEvents(items: WatchItem[]): void {
    const { window } = this.#source
    while (this.#position < window.end && items.length < BATCH) {
      const entry = window.at(this.#position)
      this.#position += 1
      if (entry !== undefined) this.#addEntry(items, entry)
      if (this.#expired !== undefined || this.#initials.length > 0) return
    }
  }

  #addEntry(items: WatchItem[], entry: WindowEntry): void {
    const { shard } = entry
    switch (entry.kind) {
      case 'change':
        return this.#addEvent(items, entry)
      case 'joined':
        if (this.#position > this.#exactFrom) this.#seen = this.#reduce(entry.versions)
        if (this.#inScope(shard.cluster) && shard.synced && !this.#from.has(shard)) this.#join(shard)
        return
      case 'left':
        if (this.#from.has(shard)) this.#expire(`too old resource version: cluster ${shard.cluster} has left`)
        return
      default:
        entry satisfies never
    }
  }

  #addEvent(items: WatchItem[], entry: ChangeEntry): void {
    const from = this.#from.get(entry.shard)
    if (from === undefined || entry.position < from) return
    const isExact = entry.position >= this.#exactFrom
    this.#seen = isExact ? this.#reduce(entry.versions) : this.#seen.with(entry.shard.cluster, entry.after)
    if (!this.#wants(entry.event.object)) return
    const isShared = this.#seen === entry.versions
    items.push(isShared ? entry.item : { type: 'EVENT', event: entry.event, versions: this.#seen })
  }

  #wants({ namespace, name }: CachedObject): boolean {
    const { namespace: wantedNamespace, name: wantedName } = this.#options
    if (wantedNamespace !== undefined && wantedNamespace !== namespace) return false
    return wantedName === undefined || wantedName === name
  }

  /** Everything up to now has been delivered, so the present versions are the watcher's. */
  #addBookmark(items: WatchItem[]): void {
    this.#bookmarkDue = false
    const versions = this.#reduce(this.#source.vector)
    const isQuiet = this.#source.clock.monotonicMs() - this.#lastItemMs >= QUIET_MS
    if (versions.equals(this.#seen) && (!isQuiet || items.length > 0)) return
    this.#seen = versions
    items.push({ type: 'BOOKMARK', versions })
  }

  #reduce(vector: VersionVector): VersionVector {
    const { clusters } = this.#options
    if (clusters === undefined) return vector
    if (this.#reduced?.of !== vector) this.#reduced = { of: vector, to: vector.only(clusters) }
    return this.#reduced.to
  }
}

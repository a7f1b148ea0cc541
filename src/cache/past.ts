/**
 * A shard as it was at an older version: what the window says has changed since, undone. So every page of a list shows the
 * state of the first one. Kept between the pages of a walk, which then only look at what is new; bounded in all (see
 * `PastViews`), and gone as soon as the window forgets what they need.
 */
import type { ObjectKey, ResourceVersion } from '../kube/names.ts'
import { objectKey } from '../kube/names.ts'
import { compareUtf8 } from '../util/bytes.ts'
import type { CachedObject } from './reader.ts'
import type { Shard } from './shard.ts'
import type { WatchWindow } from './watch-window.ts'

/** What became of one key since. */
export interface Undone {
  readonly key: ObjectKey
  /** Undefined: there was none. */
  readonly before: CachedObject | undefined
  /** Whether the shard has an object of that key now. */
  present: boolean
}

export class PastView {
  readonly shard: Shard
  readonly version: ResourceVersion
  readonly #byKey = new Map<ObjectKey, Undone>()
  #sorted: readonly Undone[] = []
  /** The next step of the shard's history to look at. */
  #next: number

  constructor(shard: Shard, version: ResourceVersion, firstStep: number) {
    this.shard = shard
    this.version = version
    this.#next = firstStep
  }

  get size(): number {
    return this.#byKey.size
  }

  /** In key order. */
  get undone(): readonly Undone[] {
    if (this.#sorted.length < this.#byKey.size) {
      this.#sorted = [...this.#byKey.values()].sort((a, b) => compareUtf8(a.key, b.key))
    }
    return this.#sorted
  }

  /** Takes in the steps that came since the last time. */
  catchUp(window: WatchWindow): void {
    const { history } = this.shard
    for (; this.#next < history.end; this.#next++) {
      const step = history.at(this.#next)
      const entry = step === undefined ? undefined : window.at(step.position)
      if (entry?.kind !== 'change') continue
      const { type, object, previous } = entry.event
      const key = objectKey(object.namespace, object.name)
      const known = this.#byKey.get(key)
      const present = type !== 'DELETED'
      if (known === undefined) this.#byKey.set(key, { key, before: previous, present })
      else known.present = present
    }
  }

  /** Where in `undone` the first key stands that does not sort before `key`. */
  lowerBound(key: string): number {
    const { undone } = this
    let low = 0
    let high = undone.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareUtf8((undone[middle] as Undone).key, key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Changes that the views of one resource hold together: some 10 MB; the objects themselves are the window's. */
const MAX_CHANGES = 100_000
/** Walks that stand still are forgotten after so many others. */
const MAX_VIEWS = 256

export class PastViews {
  readonly #window: WatchWindow
  /** The one used last comes last. */
  readonly #views = new Map<string, PastView>()

  constructor(window: WatchWindow) {
    this.#window = window
  }

  /** Changes held, for metrics. */
  get changes(): number {
    let changes = 0
    for (const view of this.#views.values()) changes += view.size
    return changes
  }

  /**
   * Undefined where nothing has changed since. Throws RangeError for a version that the window does not reach back to:
   * callers ask `covers` first.
   */
  at(shard: Shard, version: ResourceVersion): PastView | undefined {
    const first = shard.history.firstBehind(version, shard.version)
    if (typeof first !== 'number') throw new RangeError(`${version} of ${shard.cluster} is ${first}`)
    if (first >= shard.history.end) return undefined
    const key = `${version} ${shard.cluster}`
    const known = this.#views.get(key)
    const view = known?.shard === shard ? known : new PastView(shard, version, first)
    this.#views.delete(key)
    this.#views.set(key, view)
    view.catchUp(this.#window)
    this.#bound(view)
    return view
  }

  /** Drops what the window does not reach back to any more. */
  prune(): void {
    for (const [key, { shard, version }] of this.#views) {
      const isCovered = shard.synced && typeof shard.history.firstBehind(version, shard.version) === 'number'
      if (!isCovered) this.#views.delete(key)
    }
  }

  #bound(used: PastView): void {
    let { changes } = this
    for (const [key, view] of this.#views) {
      if (view === used || (changes <= MAX_CHANGES && this.#views.size <= MAX_VIEWS)) return
      this.#views.delete(key)
      changes -= view.size
    }
  }
}

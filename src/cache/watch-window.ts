/**
 * The recent past of one resource, of all its clusters in one order. Bounded in time, and in bytes together with the
 * windows of all other resources: when the budget is used up, the biggest window gives. Entries own their bytes (but for
 * big batches, see shard.ts), so that what is counted is what is held.
 */
import type { Clock } from '../util/clock.ts'
import { Deque } from './deque.ts'
import type { CacheEvent, WatchItem } from './reader.ts'
import type { Shard } from './shard.ts'
import type { HistoryStep } from './shard-history.ts'
import type { VersionVector } from './version-vector.ts'

export type WindowEntry =
  | ChangeEntry
  /** The shard was listed for the first time: watchers get its objects. `versions` are those of the others by then. */
  | { readonly kind: 'joined'; readonly shard: Shard; readonly versions: VersionVector; readonly atMs: number }
  /** The shard is gone: watchers that have its objects are cut. */
  | { readonly kind: 'left'; readonly shard: Shard; readonly atMs: number }

export interface ChangeEntry extends HistoryStep {
  readonly kind: 'change'
  readonly shard: Shard
  readonly event: CacheEvent
  /** The same as the event's. */
  readonly versions: VersionVector
  /** Shared by all watchers that have seen what the event's versions say. */
  readonly item: WatchItem
  readonly bytes: number
  readonly atMs: number
}

/** Bytes that all windows may hold together. */
export class WindowBudget {
  readonly #limit: number
  readonly #windows = new Set<WatchWindow>()
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(window: WatchWindow): void {
    this.#windows.add(window)
  }

  delete(window: WatchWindow): void {
    if (this.#windows.delete(window)) this.#used -= window.bytes
  }

  take(bytes: number): void {
    this.#used += bytes
    while (this.#used > this.#limit) {
      const biggest = this.#biggest()
      if (biggest === undefined || biggest.length <= 1) return
      biggest.evictOldest()
    }
  }

  give(bytes: number): void {
    this.#used -= bytes
  }

  #biggest(): WatchWindow | undefined {
    let biggest: WatchWindow | undefined
    for (const window of this.#windows) if (window.bytes > (biggest?.bytes ?? 0)) biggest = window
    return biggest
  }
}

export class WatchWindow {
  readonly #entries = new Deque<WindowEntry>()
  readonly #budget: WindowBudget
  readonly #clock: Clock
  readonly #windowMs: number
  #bytes = 0

  constructor(budget: WindowBudget, clock: Clock, windowMs: number) {
    this.#budget = budget
    this.#clock = clock
    this.#windowMs = windowMs
    budget.add(this)
  }

  get start(): number {
    return this.#entries.start
  }

  get end(): number {
    return this.#entries.end
  }

  get length(): number {
    return this.#entries.length
  }

  get bytes(): number {
    return this.#bytes
  }

  at(position: number): WindowEntry | undefined {
    return this.#entries.at(position)
  }

  push(entry: WindowEntry): void {
    this.#entries.push(entry)
    if (entry.kind !== 'change') return
    entry.shard.history.push(entry)
    this.#bytes += entry.bytes
    this.#budget.take(entry.bytes)
  }

  evictOldest(): void {
    const entry = this.#entries.shift()
    if (entry?.kind !== 'change') return
    entry.shard.history.evicted(entry)
    this.#bytes -= entry.bytes
    this.#budget.give(entry.bytes)
  }

  /** Lets go of what is older than the window is meant to reach back. */
  evictOld(): void {
    const before = this.#clock.monotonicMs() - this.#windowMs
    for (let oldest = this.at(this.start); oldest !== undefined && oldest.atMs < before; oldest = this.at(this.start)) {
      this.evictOldest()
    }
  }
}

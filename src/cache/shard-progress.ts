/**
 * The version at which a shard stands, and its way there: what has changed is told first, and with the last of it the shard
 * has got to its new version.
 */
import type { ResourceVersion } from '../kube/names.ts'
import type { Clock } from '../util/clock.ts'
import { joined, Publication } from './publication.ts'
import { FEW_CHANGES, isOtherHistory, owned, removeInSlices, type ShardChange } from './shard-changes.ts'
import type { ShardContent } from './shard-content.ts'
import { ShardHistory } from './shard-history.ts'
import type { Difference } from './staging.ts'

/** Where a client stands before and after a change: see shard-history.ts. */
export interface ChangeMoment {
  readonly before: ResourceVersion
  readonly after: ResourceVersion
  readonly atMs: number
}

export interface ProgressSink {
  changed(change: ShardChange, moment: ChangeMoment): void
  /** The version moved without a change. */
  moved(): void
  /** The content was replaced; `first` the first time, when no changes are told. */
  listed(first: boolean): void
}

export class ShardProgress {
  readonly history = new ShardHistory()
  readonly #sink: ProgressSink
  readonly #clock: Clock
  #version = '' as ResourceVersion
  #synced = false
  #publication: Publication | undefined

  constructor(sink: ProgressSink, clock: Clock) {
    this.#sink = sink
    this.#clock = clock
  }

  /** Empty before the first list; of a part of it until the shard is synced. */
  get version(): ResourceVersion {
    return this.#version
  }

  get synced(): boolean {
    return this.#synced
  }

  /** Not synced yet: nobody is told. */
  stand(version: ResourceVersion): void {
    this.#version = version
  }

  /** All that is registered has been listed. */
  begin(version: ResourceVersion): void {
    this.#synced = true
    this.#version = version
    this.history.reset(version)
    this.#sink.listed(true)
  }

  /** All but the last change leave the version where it was, so that a client cut off in between gets them again. */
  publish(changes: readonly ShardChange[], version: ResourceVersion): void {
    const before = this.#version
    const isReset = isOtherHistory(before, version)
    this.#version = version
    if (changes.length > 0) {
      const atMs = this.#clock.monotonicMs()
      const within: ChangeMoment = { before, after: before, atMs }
      const last: ChangeMoment = { before, after: version, atMs }
      changes.forEach((change, i) => {
        this.#sink.changed(change, i === changes.length - 1 ? last : within)
      })
    }
    if (isReset) this.#resetHistory(before, version)
    if (changes.length > 0 || version === before) return
    this.history.moved(version)
    this.#sink.moved()
  }

  /** Tells a replacement's differences: a few at once, many in slices. Slots in `gone` are freed when they have been told. */
  publishReplacement(
    content: ShardContent,
    changes: Generator<Difference | undefined>,
    gone: number[],
    version: ResourceVersion,
  ): void {
    const first: (Difference | undefined)[] = []
    while (first.length <= FEW_CHANGES) {
      const next = changes.next()
      if (next.done === true) {
        content.removeAll(gone)
        this.publish(owned(first.filter((change) => change !== undefined)), version)
        return this.#sink.listed(false)
      }
      if (next.value !== undefined) first.push(next.value)
    }
    const before = this.#version
    const atMs = this.#clock.monotonicMs()
    this.#publication = new Publication(joined(first, changes), {
      tell: (change, last) => {
        if (last) this.#version = version
        this.#sink.changed(change, { before, after: last ? version : before, atMs })
      },
      done: () => {
        this.#publication = undefined
        if (isOtherHistory(before, version)) this.#resetHistory(before, version)
        removeInSlices(content, gone)
        this.#sink.listed(false)
      },
    })
    this.#publication.start()
  }

  /** Tells at once what is left of a replacement. */
  settle(): void {
    this.#publication?.finish()
  }

  /** Nobody is to hear of it any more. */
  close(): void {
    this.#synced = false
    this.#publication?.abandon()
    this.#publication = undefined
  }

  #resetHistory(before: ResourceVersion, version: ResourceVersion): void {
    this.history.supersede(before)
    this.history.reset(version)
  }
}

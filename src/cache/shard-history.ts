/**
 * What the watch window still holds of one shard, and from where on a client that stood at some version must be told.
 *
 * A step has the version a client stood at before it and after it. They are equal for all but the last change of a batch
 * (a relist, a narrowed scope), since a client cut off within the batch must get all of it again when it resumes. So a
 * client at version V needs the steps whose `after` is above V, and those whose `before` and `after` both equal V.
 */
import { compareResourceVersions, type ResourceVersion } from '../kube/names.ts'
import { Deque } from './deque.ts'

export interface HistoryStep {
  /** Position in the watch window. */
  readonly position: number
  readonly before: ResourceVersion
  readonly after: ResourceVersion
}

/** A position in the window (or of a step); `expired`: what is needed is gone; `ahead`: the shard is not there yet. */
export type ResumePoint = number | 'expired' | 'ahead'

/** Members send one a minute; the window reaches back five minutes. */
const BOOKMARKS = 32

export class ShardHistory {
  readonly #steps = new Deque<HistoryStep>()
  /** Versions below are gone; this one too where some of the steps that it needs are. */
  #floor = '' as ResourceVersion
  #isFloorGone = false
  /**
   * Where an earlier incarnation of the cluster or its history ended. Versions up to here may be that one's, so they
   * count only where they are known to have been ours.
   */
  #superseded: ResourceVersion | undefined
  /** Versions that bookmarks brought while they might be an earlier incarnation's; the newest few. */
  readonly #bookmarks = new Deque<ResourceVersion>()

  /** History begins at `version`: nothing before it can be resumed from. */
  reset(version: ResourceVersion): void {
    this.#steps.clear()
    this.#bookmarks.clear()
    this.#floor = version
    this.#isFloorGone = false
  }

  supersede(version: ResourceVersion | undefined): void {
    if (version === undefined) return
    const order = this.#superseded === undefined ? 1 : compareResourceVersions(version, this.#superseded)
    if (order !== undefined && order > 0) this.#superseded = version
  }

  /** The shard moved to `version` without a change. */
  moved(version: ResourceVersion): void {
    if (!this.#isSuperseded(version)) return
    this.#bookmarks.push(version)
    if (this.#bookmarks.length > BOOKMARKS) this.#bookmarks.shift()
  }

  push(step: HistoryStep): void {
    this.#steps.push(step)
  }

  /** The window let go of a step; those from before a reset no longer count. */
  evicted(step: HistoryStep): void {
    if (this.#steps.at(this.#steps.start) !== step) return
    this.#steps.shift()
    this.#floor = step.after
    this.#isFloorGone = step.before === step.after
  }

  /** Position of the step that comes next. */
  get end(): number {
    return this.#steps.end
  }

  /** By the step's own position, which it keeps; undefined where it is gone. */
  at(step: number): HistoryStep | undefined {
    return this.#steps.at(step)
  }

  /** Where a client at `version` goes on. `end` is the window's end, `current` the version the shard stands at. */
  resume(version: ResourceVersion, current: ResourceVersion, end: number): ResumePoint {
    const first = this.firstBehind(version, current)
    return typeof first === 'number' ? (this.#steps.at(first)?.position ?? end) : first
  }

  /** The first step that a client at `version` must be told of; `end` where there is none. */
  firstBehind(version: ResourceVersion, current: ResourceVersion): ResumePoint {
    if (version === this.#floor && this.#isFloorGone) return 'expired'
    const order = compareResourceVersions(version, current)
    const mayBeOthers = this.#isSuperseded(version)
    if (order === undefined) return this.#firstBehindKnown(version, current)
    if (order > 0) return mayBeOthers ? 'expired' : 'ahead'
    const fromFloor = compareResourceVersions(version, this.#floor)
    if (fromFloor === undefined || fromFloor < 0) return 'expired'
    if (mayBeOthers && !this.#isKnown(version, current)) return 'expired'
    return this.#firstNeeded(version)
  }

  #isSuperseded(version: ResourceVersion): boolean {
    if (this.#superseded === undefined) return false
    const order = compareResourceVersions(version, this.#superseded)
    return order !== undefined && order <= 0
  }

  /** Versions without an order: only those that we gave out and still know. */
  #firstBehindKnown(version: ResourceVersion, current: ResourceVersion): ResumePoint {
    for (let i = this.#steps.start; i < this.#steps.end; i++) {
      if (this.#steps.at(i)?.before === version) return i
    }
    return version === current ? this.#steps.end : 'expired'
  }

  #isKnown(version: ResourceVersion, current: ResourceVersion): boolean {
    if (version === current || version === this.#floor) return true
    for (let i = this.#bookmarks.start; i < this.#bookmarks.end; i++) {
      if (this.#bookmarks.at(i) === version) return true
    }
    for (let i = this.#steps.start; i < this.#steps.end; i++) {
      const step = this.#steps.at(i)
      if (step?.before === version || step?.after === version) return true
    }
    return false
  }

  /** Steps are in the order of their versions, so the needed ones are at the end. */
  #firstNeeded(version: ResourceVersion): number {
    let low = this.#steps.start
    let high = this.#steps.end
    while (low < high) {
      const middle = (low + high) >>> 1
      const step = this.#steps.at(middle)
      if (step !== undefined && isNeeded(step, version)) high = middle
      else low = middle + 1
    }
    return low
  }
}

function isNeeded({ before, after }: HistoryStep, version: ResourceVersion): boolean {
  const order = compareResourceVersions(after, version) ?? 0
  return order > 0 || (order === 0 && before === after)
}

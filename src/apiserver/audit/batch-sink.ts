/**
 * Mode `batch`: requests do not wait for what becomes of their events, which are handed on several at once. What is not
 * handed on yet when the process dies is lost. Source: apiserver plugin/pkg/audit/buffered.
 */
import type { Counter } from '../../telemetry/metrics.ts'
import type { Clock } from '../../util/clock.ts'
import type { AuditSink } from './auditor.ts'
import type { AuditEvent } from './event.ts'

/** Takes batches. Resolves when it is through with one, whatever became of it; never rejects. */
export interface BatchWriter {
  write(events: readonly AuditEvent[]): Promise<void> | void
}

export interface BatchLimits {
  /** Events that wait or are under way at most; more are dropped, and counted as errors. */
  readonly bufferSize: number
  /** A batch this large is handed on at once. */
  readonly maxSize: number
  /** The longest an event waits for others, ms. */
  readonly maxWaitMs: number
  /** Batches a second, and at once; undefined: as they come. */
  readonly throttle?: { readonly qps: number; readonly burst: number } | undefined
}

export interface BatchOptions extends BatchLimits {
  readonly errors: Counter
  readonly clock: Clock
}

/** Batches under way at once: a backend that is slow is not asked everything at the same time. */
const UNDER_WAY = 8

export class BatchSink implements AuditSink {
  readonly #writer: BatchWriter
  readonly #options: BatchOptions
  readonly #underWay = new Set<Promise<void>>()
  #eventsUnderWay = 0
  #waiting: AuditEvent[] = []
  #cancel: (() => void) | undefined
  /** When the bucket of the throttle is full again, ms. */
  #fullAtMs = 0

  constructor(writer: BatchWriter, options: BatchOptions) {
    this.#writer = writer
    this.#options = options
  }

  log(event: AuditEvent): boolean {
    const { bufferSize, maxSize, errors } = this.#options
    if (this.#waiting.length + this.#eventsUnderWay >= bufferSize) {
      errors.inc({ plugin: 'buffered' })
      return false
    }
    this.#waiting.push(event)
    if (this.#cancel === undefined || this.#waiting.length === maxSize) this.#arm()
    return true
  }

  /** Hands on everything, throttled no longer. Resolves when nothing is under way. */
  async flush(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    while (this.#waiting.length > 0) this.#handOn()
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  #arm(waitMs = this.#waiting.length >= this.#options.maxSize ? 0 : this.#options.maxWaitMs): void {
    this.#cancel?.()
    this.#cancel = this.#options.clock.setTimeout(() => {
      this.#cancel = undefined
      this.#due()
    }, waitMs)
  }

  #due(): void {
    if (this.#waiting.length === 0 || this.#underWay.size >= UNDER_WAY) return // who ends calls again
    const waitMs = this.#takeTurn()
    if (waitMs > 0) return this.#arm(waitMs)
    this.#handOn()
    if (this.#waiting.length > 0) this.#arm()
  }

  /** How long until the throttle lets a batch pass; 0: it has been taken. */
  #takeTurn(): number {
    const { throttle, clock } = this.#options
    if (throttle === undefined) return 0
    const nowMs = clock.monotonicMs()
    const everyMs = 1000 / throttle.qps
    const waitMs = this.#fullAtMs - (throttle.burst - 1) * everyMs - nowMs
    if (waitMs > 0) return waitMs
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + everyMs
    return 0
  }

  #handOn(): void {
    const batch = this.#waiting.splice(0, this.#options.maxSize)
    const written = this.#writer.write(batch)
    if (written === undefined) return
    this.#eventsUnderWay += batch.length
    const ended = written.finally(() => {
      this.#underWay.delete(ended)
      this.#eventsUnderWay -= batch.length
      if (this.#waiting.length > 0 && this.#cancel === undefined) this.#arm()
    })
    this.#underWay.add(ended)
  }
}

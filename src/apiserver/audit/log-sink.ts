/** The audit log as lines: at once, or in batches behind the requests. Source: apiserver plugin/pkg/audit/{log,buffered,truncate}. */
import type { Counter } from '../../telemetry/metrics.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Clock } from '../../util/clock.ts'
import type { AuditSink } from './auditor.ts'
import { eventLine, type AuditEvent } from './event.ts'

/** One line, without its end. Throws where it cannot be written. */
export interface LineWriter {
  write(line: string): void
}

export interface LogSinkOptions {
  readonly writer: LineWriter
  readonly format: 'json' | 'legacy'
  /** Events longer than this lose their bodies, and are left out where that does not help; undefined: no limit. */
  readonly maxEventBytes?: number
  readonly events: Counter
  readonly errors: Counter
  readonly log: Logger
  readonly clock: Clock
}

/** Failures are told once a minute: a full disk would otherwise fill the other log too. */
const TELL_AFTER_MS = 60_000

/** Writes each event before its request goes on. */
export class LogSink implements AuditSink {
  readonly #options: LogSinkOptions
  #toldMs = Number.NEGATIVE_INFINITY

  constructor(options: LogSinkOptions) {
    this.#options = options
  }

  log(event: AuditEvent): boolean {
    const { writer, format, events, errors } = this.#options
    events.inc()
    try {
      const line = this.#fitting(eventLine(event, format), event)
      if (line === undefined) throw new Error('the event is too large even without its bodies')
      writer.write(line)
      return true
    } catch (error) {
      errors.inc({ plugin: 'log' })
      this.#tell(error, event.auditID)
      return false
    }
  }

  #fitting(line: string, event: AuditEvent): string | undefined {
    const { maxEventBytes = Number.POSITIVE_INFINITY, format } = this.#options
    if (Buffer.byteLength(line) <= maxEventBytes) return line
    const { requestObject: _request, responseObject: _response, ...rest } = event
    const annotations = { ...event.annotations, 'audit.k8s.io/truncated': 'true' }
    const shorter = eventLine({ ...rest, annotations }, format)
    return Buffer.byteLength(shorter) <= maxEventBytes ? shorter : undefined
  }

  #tell(err: unknown, auditID: string): void {
    const { clock, log } = this.#options
    if (clock.monotonicMs() - this.#toldMs < TELL_AFTER_MS) return
    this.#toldMs = clock.monotonicMs()
    log.error({ err, auditID }, 'an audit event was not written')
  }
}

export interface BatchOptions {
  /** Events that wait at most; more are dropped, and counted as errors. */
  readonly bufferSize: number
  /** A batch this large is written at once. */
  readonly maxSize: number
  /** The longest an event waits, ms. */
  readonly maxWaitMs: number
  readonly errors: Counter
  readonly clock: Clock
}

/** `--audit-log-mode=batch`: requests do not wait for the log. What is not written yet when the process dies is lost. */
export class BatchSink implements AuditSink {
  readonly #sink: AuditSink
  readonly #options: BatchOptions
  #waiting: AuditEvent[] = []
  #cancel: (() => void) | undefined

  constructor(sink: AuditSink, options: BatchOptions) {
    this.#sink = sink
    this.#options = options
  }

  log(event: AuditEvent): boolean {
    const { bufferSize, maxSize, maxWaitMs, errors, clock } = this.#options
    if (this.#waiting.length >= bufferSize) {
      errors.inc({ plugin: 'buffered' })
      return false
    }
    this.#waiting.push(event)
    const full = this.#waiting.length === maxSize
    if (full) this.#cancel?.()
    if (full || this.#cancel === undefined) {
      const waitMs = this.#waiting.length >= maxSize ? 0 : maxWaitMs
      this.#cancel = clock.setTimeout(() => this.flush(), waitMs)
    }
    return true
  }

  flush(): void {
    this.#cancel?.()
    this.#cancel = undefined
    const events = this.#waiting
    this.#waiting = []
    for (const event of events) this.#sink.log(event)
  }
}

/** The audit log as lines. Source: apiserver plugin/pkg/audit/log. */
import type { Counter } from '../../telemetry/metrics.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Clock } from '../../util/clock.ts'
import type { AuditSink } from './auditor.ts'
import type { BatchWriter } from './batch-sink.ts'
import { eventLine, type AuditEvent } from './event.ts'
import { fittingText } from './event-size.ts'

/** One line, without its end. Throws where it cannot be written. */
export interface LineWriter {
  write(line: string): void
}

export interface LogSinkOptions {
  readonly writer: LineWriter
  readonly format: 'json' | 'legacy'
  /** Events longer than this lose their bodies, and are left out where that does not help; undefined: no limit. */
  readonly maxEventBytes?: number
  readonly errors: Counter
  readonly log: Logger
  readonly clock: Clock
}

/** Failures are told once a minute: a full disk would otherwise fill the other log too. */
const TELL_AFTER_MS = 60_000

/** Writes each event before its request goes on. */
export class LogSink implements AuditSink, BatchWriter {
  readonly #options: LogSinkOptions
  #toldMs = Number.NEGATIVE_INFINITY

  constructor(options: LogSinkOptions) {
    this.#options = options
  }

  log(event: AuditEvent): boolean {
    const { writer, format, maxEventBytes, errors } = this.#options
    try {
      const line = fittingText(event, (shown) => eventLine(shown, format), maxEventBytes)
      if (line === undefined) throw new Error('the event is too large even without its bodies')
      writer.write(line)
      return true
    } catch (error) {
      errors.inc({ plugin: 'log' })
      this.#tell(error, event.auditID)
      return false
    }
  }

  write(events: readonly AuditEvent[]): void {
    for (const event of events) this.log(event)
  }

  #tell(err: unknown, auditID: string): void {
    const { clock, log } = this.#options
    if (clock.monotonicMs() - this.#toldMs < TELL_AFTER_MS) return
    this.#toldMs = clock.monotonicMs()
    log.error({ err, auditID }, 'an audit event was not written')
  }
}

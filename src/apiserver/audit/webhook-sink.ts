/**
 * Events to somebody else's server: an `EventList` by POST, repeated with growing waits until it is taken or given up.
 * Source: apiserver plugin/pkg/audit/webhook, pkg/util/webhook (WithExponentialBackoff).
 */
import type { Logger } from '../../telemetry/logger.ts'
import type { Counter } from '../../telemetry/metrics.ts'
import type { Clock, Random } from '../../util/clock.ts'
import { sleep } from '../../util/sleep.ts'
import type { AuditSink } from './auditor.ts'
import type { BatchWriter } from './batch-sink.ts'
import type { AuditEvent } from './event.ts'
import { fittingText } from './event-size.ts'

export interface WebhookOptions {
  /** Posts a body and tells the HTTP status. Rejects where there is no answer. */
  readonly post: (body: string, signal: AbortSignal) => Promise<number>
  readonly initialBackoffMs: number
  /** Events longer than this lose their bodies, and are left out where that does not help; undefined: no limit. */
  readonly maxEventBytes?: number | undefined
  /** What is longer together goes in several requests; undefined: no limit. */
  readonly maxBatchBytes?: number | undefined
  readonly errors: Counter
  readonly log: Logger
  readonly clock: Clock
  readonly random: Random
  /** Aborts when nothing is to be waited for any more. */
  readonly signal: AbortSignal
}

/** Each wait is longer than the one before by this factor, and by up to a fifth of itself by chance. */
const FACTOR = 1.5
const JITTER = 0.2
const TRIES = 5
/** As in log-sink.ts. */
const TELL_AFTER_MS = 60_000

const HEAD = '{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":['
const TAIL = ']}'

export class WebhookSink implements AuditSink, BatchWriter {
  readonly #options: WebhookOptions
  #toldMs = Number.NEGATIVE_INFINITY

  constructor(options: WebhookOptions) {
    this.#options = options
  }

  /** Modes `blocking` and `blocking-strict`. */
  async log(event: AuditEvent): Promise<boolean> {
    return (await this.#send([event])) === 0
  }

  async write(events: readonly AuditEvent[]): Promise<void> {
    await this.#send(events)
  }

  /** How many events were lost, all of them counted. Never rejects. */
  async #send(events: readonly AuditEvent[]): Promise<number> {
    const { maxEventBytes } = this.#options
    const texts = events
      .map((event) => fittingText(event, itemText, maxEventBytes))
      .filter((text) => text !== undefined)
    let lost = events.length - texts.length
    if (lost > 0) this.#lost(lost, new Error('the event is too large even without its bodies'))
    for (const part of this.#parts(texts)) {
      try {
        await this.#deliver(`${HEAD}${part.join(',')}${TAIL}`)
      } catch (error) {
        lost += part.length
        this.#lost(part.length, error)
      }
    }
    return lost
  }

  *#parts(texts: readonly string[]): Generator<readonly string[]> {
    const { maxBatchBytes = Number.POSITIVE_INFINITY } = this.#options
    let part: string[] = []
    let bytes = 0
    for (const text of texts) {
      const length = Buffer.byteLength(text)
      if (part.length > 0 && bytes + length > maxBatchBytes) {
        yield part
        part = []
        bytes = 0
      }
      part.push(text)
      bytes += length
    }
    if (part.length > 0) yield part
  }

  /** After any failure again: hardly one is a reason to lose what was recorded. */
  async #deliver(body: string): Promise<void> {
    const { post, initialBackoffMs, clock, random, signal } = this.#options
    let waitMs = initialBackoffMs
    for (let left = TRIES - 1; ; left--) {
      try {
        const status = await post(body, signal)
        if (status >= 200 && status < 300) return
        throw new Error(`the audit webhook answered ${status}`)
      } catch (error) {
        if (left === 0 || signal.aborted) throw error
      }
      await sleep(waitMs * (1 + random() * JITTER), clock, signal)
      waitMs *= FACTOR
    }
  }

  #lost(count: number, err: unknown): void {
    const { errors, clock, log } = this.#options
    errors.inc({ plugin: 'webhook' }, count)
    if (clock.monotonicMs() - this.#toldMs < TELL_AFTER_MS) return
    this.#toldMs = clock.monotonicMs()
    log.error({ err, count }, 'audit events did not reach their webhook')
  }
}

/** The list says what its items are. */
function itemText({ kind: _kind, apiVersion: _apiVersion, ...event }: AuditEvent): string {
  return JSON.stringify(event)
}

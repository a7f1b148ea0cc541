/**
 * Tells why answers fail because of what stands behind this program: a store, an authorizer. A client is only told that they
 * do, and may ask a thousand times a second: the same is told once in ten seconds, with how often it came in between.
 */
import type { StatusError } from '../kube/status-error.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock } from '../util/clock.ts'

const TOLD_EVERY_MS = 10_000

/** Different ones that are remembered; beyond, the oldest is forgotten and told anew. */
const MAX_REMEMBERED = 64

interface Told {
  readonly atMs: number
  untold: number
}

export class OutageLog {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #message: string
  readonly #told = new Map<string, Told>()

  constructor(log: Logger, clock: Clock, message = 'requests cannot be answered') {
    this.#log = log
    this.#clock = clock
    this.#message = message
  }

  failed(error: StatusError): void {
    const { message, cause } = error
    const key = `${message}\n${cause instanceof Error ? cause.message : ''}`
    const before = this.#told.get(key)
    const nowMs = this.#clock.monotonicMs()
    if (before !== undefined && nowMs - before.atMs < TOLD_EVERY_MS) {
      before.untold++
      return
    }
    this.#told.delete(key)
    const [oldest] = this.#told.keys()
    if (oldest !== undefined && this.#told.size >= MAX_REMEMBERED) this.#told.delete(oldest)
    this.#told.set(key, { atMs: nowMs, untold: 0 })
    this.#log.warn({ err: error, untold: before?.untold ?? 0 }, this.#message)
  }
}

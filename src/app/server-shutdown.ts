/**
 * How a server stops, step by step, as a generic API server does. Source: apiserver pkg/server/genericapiserver.go
 * (`RunWithContext`) and lifecycle_signals.go.
 */
import type { OpenRequests } from '../apiserver/open-requests.ts'
import type { RunningServer } from '../apiserver/server.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock } from '../util/clock.ts'

/** `--shutdown-…`. */
export interface ShutdownOptions {
  /** Between not ready and no longer accepting, so that load balancers notice. */
  readonly delayMs: number
  /** After that the port stays open, and says 429 to new requests, until those under way are answered. Default: false. */
  readonly sendRetryAfter?: boolean
  /** Over how long watches end. Default 0: all at once. */
  readonly watchGraceMs?: number
}

export interface ShutdownParts {
  readonly server: Pick<RunningServer, 'announceClose' | 'close'>
  readonly requests: OpenRequests
  readonly log: Logger
  readonly clock: Clock
  /** Readiness ends, and connections of HTTP/1.1 with their next answers. */
  notReady(): void
  /** Streams that are no watches end. */
  endStreams(): void
}

/** Until clients have heard that a connection closes: a round trip, and some for a busy machine. */
const NOTICE_MS = 250
/** For the last answers to leave, where the port is closed after them. */
const CLOSE_MS = 2_000

/** Resolves when nothing is open any more; what still is after `graceMs` is cut. */
export async function stopServer(
  { delayMs, sendRetryAfter = false, watchGraceMs = 0 }: ShutdownOptions,
  parts: ShutdownParts,
  graceMs: number,
): Promise<void> {
  const { server, requests, log, clock } = parts
  parts.notReady()
  if (delayMs > 0) await delay(delayMs, clock)
  const deadlineMs = clock.monotonicMs() + Math.max(0, graceMs - delayMs)
  const leftMs = (): number => Math.max(0, deadlineMs - clock.monotonicMs())
  if (sendRetryAfter) requests.refuse()
  if (server.announceClose() > 0 && !sendRetryAfter) await delay(NOTICE_MS, clock)
  const { open } = requests
  const watches = requests.watches.open
  const isIdle = open === 0 && watches === 0
  log[isIdle ? 'debug' : 'info']({ open, watches, sendRetryAfter }, 'no longer accepting requests')
  if (!sendRetryAfter) {
    const closed = server.close(leftMs())
    await requests.watches.end(watchGraceMs, clock)
    parts.endStreams()
    return closed
  }
  await within(leftMs() - CLOSE_MS, Promise.all([requests.drained(), requests.watches.end(watchGraceMs, clock)]), clock)
  parts.endStreams()
  await server.close(Math.min(CLOSE_MS, leftMs()))
}

/** Waits for `work`, but no longer than `ms`. */
async function within(ms: number, work: Promise<unknown>, clock: Clock): Promise<void> {
  const late = Promise.withResolvers<void>()
  const cancel = clock.setTimeout(late.resolve, Math.max(0, ms))
  await Promise.race([work, late.promise])
  cancel()
}

function delay(ms: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, ms)
  })
}

/**
 * The events of all keys of a range, over whatever connections it takes: a stream that breaks is resumed behind the last
 * event, at another member where there is one. Source: etcd clientv3 watch.go, which promises the same.
 */
import { isStatusError } from '../../kube/status-error.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Clock, Random } from '../../util/clock.ts'
import { sleep } from '../../util/sleep.ts'
import { versionTooOld } from '../errors.ts'
import type { EtcdDatabase } from './database.ts'
import type { GrpcCall } from './grpc-call.ts'
import type { GrpcConnection } from './grpc-connection.ts'
import { GRPC_STATUS, GrpcError } from './grpc-error.ts'
import {
  progressRequest,
  range,
  readWatch,
  serverVersion,
  WATCH_PATH,
  watchRequest,
  type EtcdEvent,
  type WatchAnswer,
} from './messages.ts'
import { reportsProgress } from './server-version.ts'

/** What happened up to and including `revision`; without events: nothing did. */
export interface Batch {
  readonly events: readonly EtcdEvent[]
  readonly revision: bigint
}

export interface FollowOptions {
  readonly database: EtcdDatabase
  /** Keys from this one on. */
  readonly key: string
  /** Up to this one, exclusive. */
  readonly end: string
  /** Events behind this revision. */
  readonly from: bigint
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** Where a follower stands. */
interface Position {
  revision: bigint
  /** Undefined before the first answer. */
  clusterId: bigint | undefined
}

// Reconnecting at once mends what a restart of one member broke; the longest wait is what a caller would bear.
const FIRST_RETRY_MS = 200
const LAST_RETRY_MS = 5_000
const PROGRESS_MS = 30_000 // twice as often as watches of an API bring bookmarks
const VERSION_TIMEOUT_MS = 4_000

/** Ends when the signal aborts. Throws `expired` where events were compacted, or belong to another history. */
export async function* follow(options: FollowOptions, signal: AbortSignal): AsyncGenerator<Batch> {
  const { clock, random, logger, database } = options
  const position: Position = { revision: options.from, clusterId: undefined }
  let failures = 0
  while (!signal.aborted) {
    try {
      for await (const batch of oneStream(options, position, signal)) {
        failures = 0
        position.revision = batch.revision
        yield batch
      }
    } catch (err) {
      if (signal.aborted) return
      if (isStatusError(err, 'expired')) throw err
      failures += 1
      if (failures === 2) logger.warn({ err }, 'the watch of registries in etcd is broken; resuming')
      database.avoidCurrent()
      const wait = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS)
      await sleep(wait * (0.5 + random() / 2), clock, signal).catch(() => undefined)
    }
  }
}

/** Never ends of itself but by an error. */
async function* oneStream(options: FollowOptions, position: Position, signal: AbortSignal): AsyncGenerator<Batch> {
  const { database, key, end, clock } = options
  const { call, connection } = await database.stream(WATCH_PATH, signal)
  const stopAsking = askForProgress(call, connection, clock)
  try {
    call.send(watchRequest({ key, end, start: position.revision + 1n }))
    let events: EtcdEvent[] = []
    for await (const message of call.messages()) {
      const answer = readWatch(message)
      requireAlive(answer, position)
      if (answer.created) {
        await requireReached(answer, position, options)
        continue
      }
      events.push(...answer.events)
      if (answer.fragment) continue
      const batch = { events, revision: events.at(-1)?.kv.modRevision ?? answer.revision }
      events = []
      if (batch.revision > position.revision) yield batch
    }
    throw new GrpcError('broken', 'etcd ended the watch')
  } finally {
    stopAsking()
    call.close()
  }
}

/** Throws `expired` where no event can follow any more, `GrpcError` where another stream may go on. */
function requireAlive(answer: WatchAnswer, position: Position): void {
  const { clusterId, canceled, compactRevision, cancelReason } = answer
  position.clusterId ??= clusterId
  if (clusterId !== position.clusterId) throw versionTooOld(String(position.revision), 'another etcd')
  if (!canceled) return
  if (compactRevision > 0n) throw versionTooOld(String(position.revision), String(compactRevision))
  throw new GrpcError('status', cancelReason || 'etcd canceled the watch', { status: GRPC_STATUS.unavailable })
}

/**
 * A revision that etcd has not reached belongs to a history that was lost (restored from a backup): waiting for it would
 * pass over everything that is written until then. A member that lags behind has not reached it either, so all are asked.
 */
async function requireReached(answer: WatchAnswer, position: Position, options: FollowOptions): Promise<void> {
  if (answer.revision >= position.revision) return
  const { answer: agreed } = await options.database.call(range({ key: options.key }))
  if (agreed.revision < position.revision) throw versionTooOld(String(position.revision), String(agreed.revision))
}

/** Returns how to stop. */
function askForProgress(call: GrpcCall, connection: GrpcConnection, clock: Clock): () => void {
  let cancel = (): void => undefined
  let able: boolean | undefined
  const arm = (): void => {
    cancel = clock.setTimeout(() => {
      void ask()
    }, PROGRESS_MS)
  }
  const ask = async (): Promise<void> => {
    if (able === false) return
    arm()
    try {
      const { path, request, decode } = serverVersion()
      able ??= reportsProgress(decode(await connection.unary(path, request, VERSION_TIMEOUT_MS)))
      if (able) call.send(progressRequest())
    } catch {
      // The stream itself finds out whether the connection is broken; a server without this call has no progress to tell.
      able = false
    }
  }
  arm()
  return () => {
    cancel()
  }
}

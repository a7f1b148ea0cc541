/**
 * Compacts revisions of etcd as old as an interval, as kube-apiservers do, and with them: of all that share an etcd, one
 * does it in each interval. Without it an etcd of our own would grow until it takes no more.
 * Source: apiserver pkg/storage/etcd3/compact.go.
 */
import type { Logger } from '../../telemetry/logger.ts'
import type { Clock } from '../../util/clock.ts'
import { sleep } from '../../util/sleep.ts'
import type { EtcdDatabase } from './database.ts'
import { GRPC_STATUS, isGrpcStatus } from './grpc-error.ts'
import { compact, takeTurn } from './messages.ts'

export interface CompactorOptions {
  readonly database: EtcdDatabase
  readonly intervalMs: number
  readonly clock: Clock
  readonly logger: Logger
}

/** Runs until the signal aborts. What fails is logged and done in the next interval. */
export async function runCompactor(options: CompactorOptions, signal: AbortSignal): Promise<void> {
  const { database, intervalMs, clock, logger } = options
  let turn = 0n
  let revision = 0n
  while (!signal.aborted) {
    await sleep(intervalMs, clock, signal).catch(() => undefined)
    if (signal.aborted) return
    try {
      const { answer } = await database.call(takeTurn(turn, revision))
      // The first revision that is known is an interval old only at the next turn.
      if (answer.taken && revision > 0n) await compactTo(database, revision)
      turn = answer.turn
      revision = answer.revision
    } catch (err) {
      logger.debug({ err }, 'etcd was not compacted')
    }
  }
}

async function compactTo(database: EtcdDatabase, revision: bigint): Promise<void> {
  try {
    await database.call(compact(revision))
  } catch (error) {
    if (!isGrpcStatus(error, GRPC_STATUS.outOfRange)) throw error // somebody compacted further
  }
}

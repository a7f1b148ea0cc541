/** How far the controller has come, for readiness: whether the first sync is over. */
import type { ClusterName } from '../kube/names.ts'
import type { ActiveShard } from './active-shard.ts'

export interface Progress {
  /** Which registries there are has been read. */
  readonly registriesSynced: boolean
  /**
   * Registries are read and planned for, every member has answered or failed, every shard has been listed or its member fails: waiting
   * longer brings nothing that is not on its way by retries.
   */
  readonly settled: boolean
  readonly shards: number
  /** Listed at least once. */
  readonly synced: number
  /** Members that have not told what they serve; those that failed to among them. */
  readonly undiscovered: readonly ClusterName[]
}

export interface ProgressInput {
  readonly registriesSynced: boolean
  /** Something changed that is not planned for yet. */
  readonly planPending: boolean
  readonly members: readonly { readonly name: ClusterName; readonly discovered: boolean; readonly failed: boolean }[]
  readonly shards: Iterable<Pick<ActiveShard, 'synced' | 'failure'>>
}

export function progressOf({ registriesSynced, planPending, members, shards }: ProgressInput): Progress {
  const all = [...shards]
  return {
    registriesSynced,
    settled:
      registriesSynced &&
      !planPending &&
      members.every(({ discovered, failed }) => discovered || failed) &&
      all.every(({ synced, failure }) => synced || failure !== undefined),
    shards: all.length,
    synced: all.filter(({ synced }) => synced).length,
    undiscovered: members.filter(({ discovered }) => !discovered).map(({ name }) => name),
  }
}

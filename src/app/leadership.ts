/** Elects one of all replicas of `serve`, for what only one of them may do. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { MemberClient } from '../fleet/member.ts'
import { LeaderElector } from '../leaderelection/leader-elector.ts'
import { ALWAYS_LEADING, type Leadership } from '../leaderelection/leadership.ts'
import type { Registry } from '../telemetry/metrics.ts'
import type { LeaderElectionConfig } from './options/leader-election-config.ts'
import type { Runtime } from './runtime.ts'

/** Leadership that has to be kept up as long as the service runs. */
export interface FollowedLeadership extends Leadership {
  run?(signal: AbortSignal): Promise<void>
}

/** Reads and renews every few seconds; never held up by what else is asked of the control plane. */
export const ELECTION_LIMITS = { qps: 5, burst: 10 }

/** Without a configuration this replica always leads. */
export async function electedBy(
  config: LeaderElectionConfig | undefined,
  { clock, random, log }: Runtime,
  connect: () => Promise<MemberClient>,
): Promise<(parts: { readonly metrics: Registry }) => FollowedLeadership> {
  if (config === undefined) return () => ALWAYS_LEADING
  const client = await connect()
  const identity = `${hostname()}_${randomUUID()}` // as Kubernetes' own components name themselves
  return ({ metrics }) => new LeaderElector({ ...config, client, identity, clock, random, logger: log, metrics })
}

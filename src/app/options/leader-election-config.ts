/** Flags of the election of one replica, named as those of Kubernetes' own components. */
import { JITTER_FACTOR, type LeaderElectionTimes } from '../../leaderelection/leader-elector.ts'
import type { LeaseName } from '../../leaderelection/lease.ts'
import type { FlagReader } from './flag-reader.ts'
import type { FlagSpec } from './flag-spec.ts'

export interface LeaderElectionConfig extends LeaderElectionTimes {
  readonly lease: LeaseName
}

export const LEADER_ELECTION_FLAGS: readonly FlagSpec[] = [
  {
    name: 'leader-elect',
    group: 'leader election',
    type: 'bool',
    default: 'true',
    honoured:
      'One of all replicas, elected by a Lease in the control plane, writes the status of registries and to search stores that replicas share. false: this replica does.',
  },
  {
    name: 'leader-elect-lease-duration',
    group: 'leader election',
    type: 'duration',
    default: '15s',
    honoured: 'How long the others wait before they take the lease of a leader that no longer renews it.',
  },
  {
    name: 'leader-elect-renew-deadline',
    group: 'leader election',
    type: 'duration',
    default: '10s',
    honoured: 'How long a leader that cannot renew its lease goes on as one; less than the lease duration.',
  },
  {
    name: 'leader-elect-retry-period',
    group: 'leader election',
    type: 'duration',
    default: '2s',
    honoured: 'Between two tries to renew or to take the lease.',
  },
  {
    name: 'leader-elect-resource-name',
    group: 'leader election',
    type: 'string',
    default: 'fleetsearch',
    honoured: 'Name of the Lease.',
  },
  {
    name: 'leader-elect-resource-namespace',
    group: 'leader election',
    type: 'string',
    default: 'karmada-system',
    honoured: 'Namespace of the Lease; it must exist.',
  },
]

/** Undefined: this replica always leads. Source of the rules: client-go tools/leaderelection, `NewLeaderElector`. */
export function leaderElectionConfig(flags: FlagReader): LeaderElectionConfig | undefined {
  const leaseDurationMs = flags.durationMs('leader-elect-lease-duration')
  const renewDeadlineMs = flags.durationMs('leader-elect-renew-deadline')
  const retryPeriodMs = flags.durationMs('leader-elect-retry-period')
  const name = flags.text('leader-elect-resource-name')
  const namespace = flags.text('leader-elect-resource-namespace')
  if (!flags.bool('leader-elect')) return undefined
  const { faults } = flags
  if (leaseDurationMs < 1_000) faults.push('--leader-elect-lease-duration must be at least 1s')
  if (retryPeriodMs <= 0) faults.push('--leader-elect-retry-period must be greater than 0')
  if (leaseDurationMs <= renewDeadlineMs) {
    faults.push('--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline')
  }
  if (renewDeadlineMs <= JITTER_FACTOR * retryPeriodMs) {
    faults.push(`--leader-elect-renew-deadline must be greater than ${JITTER_FACTOR} times --leader-elect-retry-period`)
  }
  if (name === undefined) faults.push('--leader-elect-resource-name must not be empty')
  if (namespace === undefined) faults.push('--leader-elect-resource-namespace must not be empty')
  return { leaseDurationMs, renewDeadlineMs, retryPeriodMs, lease: { namespace: namespace ?? '', name: name ?? '' } }
}

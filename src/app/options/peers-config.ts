/** Flags of what replicas tell each other. */
import type { FlagReader } from './flag-reader.ts'
import type { FlagSpec } from './flag-spec.ts'
import type { LeaderElectionConfig } from './leader-election-config.ts'
import type { ServingConfig } from './serving-config.ts'

export interface PeersConfig extends Pick<
  LeaderElectionConfig,
  'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs' | 'lease'
> {
  readonly bindAddress: string
  /** 0: any free one. */
  readonly port: number
  /** Where the others find this replica; undefined: found out at start. */
  readonly address: string | undefined
  /** That of the server, which tells replicas in one place apart; 0: any. */
  readonly securePort: number
}

export const PEERS_FLAGS: readonly FlagSpec[] = [
  {
    name: 'peer-port',
    group: 'leader election',
    type: 'int',
    default: '0',
    honoured:
      'Port on --bind-address where other replicas ask what was written through this one; 0 takes a free one, which they find by themselves.',
  },
  {
    name: 'peer-address',
    group: 'leader election',
    type: 'string',
    honoured:
      'Address by which other replicas reach this one. Without it: --bind-address where that is one address, else $POD_IP, else the first of this machine.',
  },
]

/** Undefined: this replica is the only one (`--leader-elect=false`), or has no proxy. */
export function peersConfig(
  flags: FlagReader,
  election: LeaderElectionConfig | undefined,
  { bindAddress, securePort, sharePort }: ServingConfig,
  podIp: string | undefined,
): PeersConfig | undefined {
  const port = flags.number('peer-port', 0, 65_535)
  const given = flags.text('peer-address')
  if (given !== undefined && /[/\s]/.test(given)) flags.faults.push(`--peer-address: ${given} is no address`)
  if (election === undefined || flags.bool('disable-proxy')) return undefined
  const isOne = bindAddress !== '0.0.0.0' && bindAddress !== '::'
  const address = given ?? (isOne ? bindAddress : podIp === '' ? undefined : podIp)
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs, lease } = election
  const times = { leaseDurationMs, renewDeadlineMs, retryPeriodMs }
  return { ...times, lease: replicasLease(lease), bindAddress, port, address, securePort: sharePort ? 0 : securePort }
}

const replicasLease = ({ namespace, name }: LeaderElectionConfig['lease']): LeaderElectionConfig['lease'] => ({
  namespace,
  name: `${name}-replicas`,
})

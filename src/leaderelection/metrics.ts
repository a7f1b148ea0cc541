/** Under the names of Kubernetes' own components. Source: component-base metrics/prometheus/clientgo/leaderelection. */
import { Counter, Gauge, type Registry } from '../telemetry/metrics.ts'

/** Returns how to count a renewal that had to read the Lease first. */
export function addLeaderMetrics(registry: Registry, name: string, isLeader: () => boolean): () => void {
  new Gauge({
    name: 'leader_election_master_status',
    help: 'Whether this replica holds the lease: 1 leader, 0 backup.',
    labelNames: ['name'],
    registers: [registry],
    collect() {
      this.set({ name }, isLeader() ? 1 : 0)
    },
  })
  const slowPath = new Counter({
    name: 'leader_election_slowpath_total',
    help: 'Renewals of the lease that had to read it first.',
    labelNames: ['name'],
    registers: [registry],
  })
  return () => {
    slowPath.inc({ name })
  }
}

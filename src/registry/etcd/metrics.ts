/** How etcd fares, under the names that dashboards of kube-apiservers know (apiserver pkg/storage/etcd3/metrics). */
import { Counter, Histogram, type Registry } from '../../telemetry/metrics.ts'

export type Operation = 'get' | 'list' | 'create' | 'update' | 'delete'

const LABELS = ['operation', 'group', 'resource'] as const
const BUCKETS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60]

export class EtcdMetrics {
  readonly #requests: Counter<(typeof LABELS)[number]>
  readonly #errors: Counter<(typeof LABELS)[number]>
  readonly #seconds: Histogram<(typeof LABELS)[number]>

  constructor(registry: Registry) {
    const registers = [registry]
    this.#requests = new Counter({
      name: 'etcd_requests_total',
      help: 'Requests to etcd.',
      labelNames: LABELS,
      registers,
    })
    this.#errors = new Counter({
      name: 'etcd_request_errors_total',
      help: 'Requests to etcd that failed, at all of its members.',
      labelNames: LABELS,
      registers,
    })
    this.#seconds = new Histogram({
      name: 'etcd_request_duration_seconds',
      help: 'Seconds until etcd had answered, or had failed to.',
      labelNames: LABELS,
      buckets: BUCKETS,
      registers,
    })
  }

  observe(operation: Operation, seconds: number, failed: boolean): void {
    const labels = { operation, group: 'search.karmada.io', resource: 'resourceregistries' }
    this.#requests.inc(labels)
    this.#seconds.observe(labels, seconds)
    if (failed) this.#errors.inc(labels)
  }
}

/** How the reflectors fare. Series are bounded: clusters × resources × the closed set of fault codes. */
import { gvrKey, type GroupVersionResource } from '../kube/group-version.ts'
import { Counter, type Registry } from '../telemetry/metrics.ts'

export class ReflectorMetrics {
  readonly #lists: Counter
  readonly #failures: Counter

  constructor(registry: Registry) {
    const registers = [registry]
    this.#lists = new Counter({
      name: 'fleetsearch_reflector_lists_total',
      help: 'Whole lists taken over from a member; more than one for a resource are relists.',
      labelNames: ['cluster', 'resource'],
      registers,
    })
    this.#failures = new Counter({
      name: 'fleetsearch_reflector_failures_total',
      help: 'Failed lists and watches, by the kind of fault. Each is retried.',
      labelNames: ['cluster', 'resource', 'code'],
      registers,
    })
  }

  listed(cluster: string, gvr: GroupVersionResource): void {
    this.#lists.inc({ cluster, resource: gvrKey(gvr) })
  }

  failed(cluster: string, gvr: GroupVersionResource, code: string): void {
    this.#failures.inc({ cluster, resource: gvrKey(gvr), code })
  }
}

/** Reviews in /metrics under Kubernetes' names. Source: apiserver pkg/authentication/authenticatorfactory/metrics.go. */
import { Counter, Histogram, type Registry } from '../telemetry/metrics.ts'

export class ReviewMetrics {
  readonly #requests: Counter
  readonly #duration: Histogram

  /** `authn`: TokenReviews; `authz`: SubjectAccessReviews. */
  constructor(registry: Registry, kind: 'authn' | 'authz') {
    const registers = [registry]
    this.#requests = new Counter({
      name: `apiserver_delegated_${kind}_request_total`,
      help: 'Reviews asked of the control plane, by the status code of the answer.',
      labelNames: ['code'],
      registers,
    })
    this.#duration = new Histogram({
      name: `apiserver_delegated_${kind}_request_duration_seconds`,
      help: 'Time of a review, repetitions included, by the status code of the answer.',
      labelNames: ['code'],
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    })
  }

  ended(code: string, seconds: number): void {
    this.#requests.inc({ code })
    this.#duration.observe({ code }, seconds)
  }
}

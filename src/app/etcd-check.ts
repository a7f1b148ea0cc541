/**
 * Whether etcd answers, for `/healthz/etcd` and `/readyz/etcd-readiness`. Asked when somebody asks, at most once in half the
 * time-out: whoever may ask is nobody in particular. Source: apiserver pkg/storage/storagebackend/factory/etcd3.go
 * (`newETCD3Check`).
 */
import type { HealthCheck, HealthEndpoint, Readiness } from '../apiserver/health.ts'
import type { Clock } from '../util/clock.ts'
import type { EtcdConfig } from './options/etcd-config.ts'

export interface EtcdCheckOptions {
  readonly name: string
  readonly endpoints: readonly HealthEndpoint[]
  readonly informs: readonly HealthEndpoint[]
  readonly timeoutMs: number
  /** Rejects where there is no answer in time. */
  readonly probe: (timeoutMs: number) => Promise<void>
  readonly clock: Clock
}

export class EtcdCheck implements HealthCheck {
  readonly name: string
  readonly endpoints: readonly HealthEndpoint[]
  readonly informs: readonly HealthEndpoint[]
  readonly #options: EtcdCheckOptions
  #askedMs: number | undefined
  #latest: Promise<Readiness> | undefined

  constructor(options: EtcdCheckOptions) {
    this.name = options.name
    this.endpoints = options.endpoints
    this.informs = options.informs
    this.#options = options
  }

  /** Who asks meanwhile hears the same. Never rejects. */
  check(): Promise<Readiness> {
    const { clock, timeoutMs } = this.#options
    const nowMs = clock.monotonicMs()
    const isFresh = this.#askedMs !== undefined && nowMs - this.#askedMs < timeoutMs / 2
    if (this.#latest !== undefined && isFresh) return this.#latest
    this.#askedMs = nowMs
    this.#latest = this.#ask()
    return this.#latest
  }

  #ask(): Promise<Readiness> {
    const { clock, timeoutMs, probe } = this.#options
    return new Promise((resolve) => {
      const cancel = clock.setTimeout(() => {
        resolve({ state: 'failed', reason: `etcd does not answer within ${timeoutMs} ms` })
      }, timeoutMs)
      probe(timeoutMs).then(
        () => {
          cancel()
          resolve({ state: 'ready' })
        },
        () => {
          cancel()
          // Why is in the log: this is read by whoever asks.
          resolve({ state: 'failed', reason: 'etcd does not answer' })
        },
      )
    })
  }
}

/**
 * Those of a karmada-search. There both also end liveness and readiness; here they are told of and do not: a restart mends no
 * etcd, and without one everything but registries is served on.
 */
export function etcdChecks(
  { healthcheckTimeoutMs, readycheckTimeoutMs }: EtcdConfig,
  probe: EtcdCheckOptions['probe'],
  clock: Clock,
): readonly HealthCheck[] {
  const health = { name: 'etcd', endpoints: ['healthz'], informs: ['livez', 'readyz'] } as const
  const readiness = { name: 'etcd-readiness', endpoints: [], informs: ['readyz'] } as const
  return [
    new EtcdCheck({ ...health, timeoutMs: healthcheckTimeoutMs, probe, clock }),
    new EtcdCheck({ ...readiness, timeoutMs: readycheckTimeoutMs, probe, clock }),
  ]
}

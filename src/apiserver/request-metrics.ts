/**
 * What every request leaves behind in /metrics, under Kubernetes' names where they exist
 * (apiserver pkg/endpoints/metrics/metrics.go). Labels are bounded: resources are our own four, verbs the known ones.
 */
import { Counter, Gauge, Histogram, type Registry } from '../telemetry/metrics.ts'

const VERBS = new Set([
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'options',
  'head',
])
const RESOURCES = new Set(['search', 'proxying', 'resourceregistries'])

export interface RequestLabels {
  readonly verb: string
  /** Empty for paths that are no resource. */
  readonly resource: string
  readonly subresource: string
}

export class RequestMetrics {
  readonly #requests: Counter
  readonly #duration: Histogram
  readonly #inflight: Gauge
  readonly #panics: Counter

  constructor(registry: Registry) {
    const registers = [registry]
    this.#requests = new Counter({
      name: 'apiserver_request_total',
      help: 'Requests by verb, resource, subresource and status code.',
      labelNames: ['verb', 'resource', 'subresource', 'code'],
      registers,
    })
    this.#duration = new Histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Time to answer, watches apart.',
      labelNames: ['verb', 'resource', 'subresource'],
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    })
    this.#inflight = new Gauge({
      name: 'apiserver_current_inflight_requests',
      help: 'Requests being answered.',
      labelNames: ['request_kind'],
      registers,
    })
    this.#panics = new Counter({
      name: 'fleetsearch_request_faults_total',
      help: 'Requests that ended in a fault of Fleetsearch (500).',
      registers,
    })
  }

  started(kind: 'readOnly' | 'mutating' | 'watch'): void {
    this.#inflight.inc({ request_kind: kind })
  }

  ended(kind: 'readOnly' | 'mutating' | 'watch', labels: RequestLabels, code: number, seconds: number): void {
    const bounded = {
      verb: VERBS.has(labels.verb) ? labels.verb : 'other',
      resource: RESOURCES.has(labels.resource) ? labels.resource : '',
      subresource: SUBRESOURCES.has(labels.subresource) ? labels.subresource : '',
    }
    this.#inflight.dec({ request_kind: kind })
    this.#requests.inc({ ...bounded, code: String(code) })
    if (kind !== 'watch') this.#duration.observe(bounded, seconds)
  }

  fault(): void {
    this.#panics.inc()
  }
}

const SUBRESOURCES = new Set(['proxy', 'status', 'api', 'apis'])

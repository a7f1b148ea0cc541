/** Prometheus metrics: each room declares its own over one registry that the composition root hands out. */
import { Registry } from 'prom-client'

export { Counter, Gauge, Histogram, Registry } from 'prom-client'

export function createMetricsRegistry(): Registry {
  return new Registry()
}

/** Node's own figures (memory, event-loop lag, garbage collection) under prom-client's usual names. */
import { collectDefaultMetrics, type Registry } from 'prom-client'

export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
}

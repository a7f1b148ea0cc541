/** Traces of the process, where there is a collector for them. */
import { installTracer } from '../telemetry/tracing.ts'
import type { Registry } from '../telemetry/metrics.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { TracingConfig } from './options/tracing-config.ts'
import type { Runtime } from './runtime.ts'

/** The last spans have this long to reach the collector when the process ends, ms. */
const CLOSE_MS = 2_000

/** Call before what is traced, so that it is closed after it. */
export async function openTracing(
  config: TracingConfig | undefined,
  metrics: Registry,
  { log }: Pick<Runtime, 'log'>,
  lifecycle: Lifecycle,
): Promise<void> {
  if (config === undefined) return
  // Twenty megabytes that are loaded only where they are used.
  const { createOtelTracer } = await import('../telemetry/otel-tracer.ts')
  const tracer = createOtelTracer({ ...config, metrics })
  const uninstall = installTracer(tracer)
  lifecycle.onStop('tracing', async (graceMs) => {
    uninstall()
    await tracer.close(Math.min(graceMs, CLOSE_MS))
  })
  log.info({ endpoint: config.endpoint, ratio: config.sampling.ratio }, 'traces are sent')
}

/** Runs one command from its configuration until the signal aborts, then drains. */
import type { Config } from './options/config.ts'
import { Lifecycle } from './lifecycle.ts'
import { runDemo, runUp } from './run-local.ts'
import { runServe } from './run-serve.ts'
import type { Runtime } from './runtime.ts'

/** Everything is stopped within this time, beside what `--shutdown-…` adds; a request that is still open then is cut. */
const GRACE_MS = 10_000

/** Rejects where the command cannot start, or something of ours broke. */
export async function runCommand(config: Config, runtime: Runtime, signal: AbortSignal): Promise<void> {
  const lifecycle = new Lifecycle(runtime.log, runtime.clock)
  const fault = Promise.withResolvers<never>()
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  try {
    await Promise.race([start(config, runtime, lifecycle, fault.reject), fault.promise, stopped])
    await Promise.race([stopped, fault.promise])
    runtime.log.info({ reason: String((signal.reason as Error | undefined)?.message) }, 'stopping')
  } finally {
    await lifecycle.stop(graceOf(config))
  }
}

function graceOf(config: Config): number {
  if (config.command !== 'serve') return GRACE_MS
  const { delayMs, watchGraceMs } = config.shutdown
  return GRACE_MS + delayMs + watchGraceMs
}

function start(
  config: Config,
  runtime: Runtime,
  lifecycle: Lifecycle,
  onFault: (error: unknown) => void,
): Promise<void> {
  switch (config.command) {
    case 'demo':
      return runDemo(config, runtime, lifecycle, onFault)
    case 'up':
      return runUp(config, runtime, lifecycle, onFault)
    case 'serve':
      return runServe(config, runtime, lifecycle, onFault)
    default:
      return config satisfies never
  }
}

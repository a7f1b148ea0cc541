/** Profiles of `serve`: on the main port, whose callers have rights, and on a port or socket of their own. */
import { createServer, type Server } from 'node:http'
import { chmod, lstat, unlink } from 'node:fs/promises'
import { createProfilingHandler, PROFILING_PREFIX } from '../apiserver/profiling/handler.ts'
import { Profiler } from '../apiserver/profiling/profiler.ts'
import { createListener } from '../apiserver/create-listener.ts'
import type { Route } from '../apiserver/route.ts'
import { allowAll } from '../apiserver/authz/authorizer.ts'
import { guardLoopback } from '../apiserver/loopback-guard.ts'
import { RequestMetrics } from '../apiserver/request-metrics.ts'
import { ListenError } from '../apiserver/server.ts'
import type { UserInfo } from '../http/api-request.ts'
import { pathNotFound } from '../http/status-response.ts'
import { createMetricsRegistry } from '../telemetry/metrics.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { ProfilingConfig } from './options/profiling-config.ts'
import type { Runtime } from './runtime.ts'

const NOBODY: UserInfo = { name: 'system:unsecured', uid: '', groups: ['system:masters'], extra: {} }

/** The routes of the main port. Rejects with `ListenError` where a port or socket of its own cannot be opened. */
export async function openProfiling(
  config: ProfilingConfig,
  runtime: Runtime,
  lifecycle: Lifecycle,
): Promise<readonly Route[]> {
  const { clock, log } = runtime
  const profiler = new Profiler(clock)
  const options = { profiler, nowMs: () => clock.nowMs() }
  // Whoever reaches a place of its own is not asked who he is: no snapshots there.
  const bare: Route = { prefix: PROFILING_PREFIX, handler: createProfilingHandler({ ...options, snapshots: false }) }
  if (config.address !== undefined) {
    const { host, port } = config.address
    await open(bare, runtime, lifecycle, { host, port })
    log.warn({ host, port }, 'profiles are served to whoever reaches this address')
  }
  if (config.socket !== undefined) {
    await removeSocket(config.socket)
    await open(bare, runtime, lifecycle, { path: config.socket })
    await chmod(config.socket, 0o600)
  }
  if (!config.mainPort) return []
  const handler = createProfilingHandler({ ...options, snapshots: config.snapshots })
  return [{ prefix: PROFILING_PREFIX, handler }]
}

type Place = { readonly host: string | undefined; readonly port: number } | { readonly path: string }

async function open(route: Route, { clock, log }: Runtime, lifecycle: Lifecycle, place: Place): Promise<void> {
  const stop = new AbortController()
  const isLoopback = 'host' in place && place.host !== undefined && /^(127\.|::1$|localhost$)/.test(place.host)
  const listener = createListener({
    routes: [route],
    fallback: () => Promise.reject(pathNotFound()),
    ...(isLoopback ? { guard: guardLoopback } : {}),
    authenticate: () => NOBODY,
    authorize: allowAll,
    alwaysAllowPaths: [],
    inFlight: { readOnly: 10, mutating: 10 },
    requestTimeoutMs: 0,
    metrics: new RequestMetrics(createMetricsRegistry()),
    log,
    clock,
    signal: stop.signal,
  })
  const server = createServer(listener)
  await listening(server, place)
  lifecycle.onStop('profiling', async () => {
    stop.abort(new Error('shutting down'))
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
}

/** One that a process which is gone has left behind; anything else of that name stays, and listening fails. */
async function removeSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isSocket() === true) await unlink(path)
}

function listening(server: Server, place: Place): Promise<void> {
  return new Promise((resolve, reject) => {
    const where = 'path' in place ? place.path : `${place.host ?? ''}:${place.port}`
    const failed = (error: Error): void => {
      reject(new ListenError(where, error))
    }
    server.once('error', failed)
    server.listen(place, () => {
      server.off('error', failed)
      resolve()
    })
  })
}

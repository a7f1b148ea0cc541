/** `demo` and `up`: one user on loopback, everything embedded, read-only unless changes are allowed. */
import path from 'node:path'
import { guardLoopback } from '../apiserver/loopback-guard.ts'
import type { RunningServer } from '../apiserver/server.ts'
import { DEFAULT_REGISTRY_NAME, DEFAULT_REGISTRY_SPEC } from '../controller/default-registry.ts'
import { startDemoFleet } from '../fleet/demo/demo-fleet.ts'
import { KubeconfigProvider } from '../fleet/kubeconfig/kubeconfig-provider.ts'
import { SEARCH_GROUP_VERSION } from '../api/resource-registry.ts'
import { createMembersPlugin } from '../proxy/plugins/members.ts'
import type { ResourceRegistries } from '../registry/resource-registries.ts'
import { readOnlyDiscovery } from '../proxy/discovery/read-only.ts'
import { openDataFolder } from './data-folder.ts'
import { serveHttp } from './http-server.ts'
import type { Lifecycle } from './lifecycle.ts'
import { openLocalAccess, type LocalAccess } from './local-access.ts'
import type { DemoConfig, UpConfig } from './options/config.ts'
import { memberRights } from './rights.ts'
import { createService, type Service } from './service.ts'
import type { Runtime } from './runtime.ts'
import { welcome } from './welcome.ts'

/** The commands it prints should have whole answers; a member that does not answer holds the welcome up no longer than this. */
const WELCOME_AFTER_MS = 10_000

type OnFault = (error: unknown) => void

export async function runDemo(
  config: DemoConfig,
  runtime: Runtime,
  lifecycle: Lifecycle,
  onFault: OnFault,
): Promise<void> {
  runtime.log.info({ clusters: config.clusters }, 'starting a simulated fleet')
  const { service, access } = await createLocalService(config, runtime, lifecycle, onFault)
  const demo = await startDemoFleet({
    fleet: service.fleet,
    clock: runtime.clock,
    seed: config.seed,
    clusters: config.clusters,
    onFailure: onFault,
  })
  lifecycle.onStop('demo fleet', () => demo.stop())
  const server = await startLocal({ service, access }, () => true, config, runtime, lifecycle)
  await service.settled(WELCOME_AFTER_MS)
  if (lifecycle.stopping) return
  const what = `${demo.urls.size} simulated clusters, read-only: ${[...demo.urls.keys()].join(', ')}`
  runtime.print(welcome({ url: server.url, what }))
}

export async function runUp(config: UpConfig, runtime: Runtime, lifecycle: Lifecycle, onFault: OnFault): Promise<void> {
  runtime.log.info({ kubeconfig: config.kubeconfig, contexts: config.contexts }, 'starting')
  const { service, access } = await createLocalService(config, runtime, lifecycle, onFault)
  const provider = new KubeconfigProvider({
    files: config.kubeconfig.split(path.delimiter).filter((file) => file !== ''),
    contexts: config.contexts,
    fleet: service.fleet,
    logger: runtime.log,
    clock: runtime.clock,
    environment: config.environment,
    qps: config.clusterApiQps,
    burst: config.clusterApiBurst,
  })
  lifecycle.run('kubeconfig', (signal) => provider.run(signal), onFault)
  const server = await startLocal({ service, access }, () => provider.synced, config, runtime, lifecycle)
  await service.settled(WELCOME_AFTER_MS)
  if (lifecycle.stopping) return
  const hint = await access.announce(server.url)
  const what = `The contexts ${config.contexts.join(', ')} of ${config.kubeconfig}${config.allowWrites ? '' : ', read-only'}`
  runtime.print(welcome({ url: server.url, what }) + (hint === undefined ? '' : `\n${hint}`))
}

interface Local {
  readonly service: Service
  readonly access: LocalAccess
}

async function createLocalService(
  config: DemoConfig | UpConfig,
  runtime: Runtime,
  lifecycle: Lifecycle,
  onFault: OnFault,
): Promise<Local> {
  const folder = await openDataFolder(config.dataDir)
  lifecycle.onStop('data folder', () => folder.release())
  // The demo's members take no changes.
  const allowWrites = config.command === 'up' && config.allowWrites
  const access = openLocalAccess(allowWrites, path.join(folder.path, 'kubeconfig'))
  lifecycle.onStop('local access', () => access.close())
  const service = await createService({
    config,
    runtime,
    lifecycle,
    folder: folder.path,
    search: true,
    proxy: true,
    writeGuard: access.guard,
    // The same fleet at each start, from a folder that is new each time.
    ...(config.command === 'demo' ? { installation: () => Promise.resolve('demo') } : {}),
    rights: memberRights(config.rights, runtime),
    lastPlugin: (parts) =>
      createMembersPlugin({
        ...parts,
        ...runtime,
        ...(allowWrites ? {} : { discovery: readOnlyDiscovery(parts.discovery) }),
        mayWrite: ({ request }) => access.mayWrite(request.user),
      }),
    onFault,
  })
  await ensureDefaultRegistry(service.registries)
  return { service, access }
}

/**
 * Called when members are joining already: at the end the server then stops first, and nobody who still watches is told
 * that every object of every cluster is gone.
 */
function startLocal(
  { service, access }: Local,
  fleetSynced: () => boolean,
  config: { readonly port: number },
  runtime: Runtime,
  lifecycle: Lifecycle,
): Promise<RunningServer> {
  service.start(fleetSynced)
  return serveHttp(
    service,
    {
      listen: { host: '127.0.0.1', port: config.port },
      prepare: access.prepare,
      guard: guardLoopback,
      authenticate: access.authenticate,
      authorize: access.authorize,
      alwaysAllowPaths: [],
      inFlight: { readOnly: 400, mutating: 200 },
      requestTimeoutMs: 60_000,
      shutdown: { delayMs: 0 },
    },
    runtime,
    lifecycle,
  )
}

/** Only where there is none at all: one that was changed or deleted by its owner stays so while others exist. */
async function ensureDefaultRegistry(registries: ResourceRegistries): Promise<void> {
  if ((await registries.list()).items.length > 0) return
  await registries.create({
    apiVersion: SEARCH_GROUP_VERSION,
    kind: 'ResourceRegistry',
    metadata: { name: DEFAULT_REGISTRY_NAME, uid: '', resourceVersion: '', creationTimestamp: '' },
    spec: DEFAULT_REGISTRY_SPEC,
  })
}

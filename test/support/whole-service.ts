/**
 * The whole service in the test's own process, as `up` composes it, over fake members that can misbehave: real sockets,
 * real SQLite files, the real clock. Everybody may do everything, so that registries can be changed too.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Authenticator } from '../../src/apiserver/authn/authenticator.ts'
import { allowAll, type Authorizer } from '../../src/apiserver/authz/authorizer.ts'
import type { Patience, TlsOptions } from '../../src/apiserver/server.ts'
import { serveHttp } from '../../src/app/http-server.ts'
import { Lifecycle } from '../../src/app/lifecycle.ts'
import { createService, type Service, type ServiceOptions } from '../../src/app/service.ts'
import type { Runtime } from '../../src/app/runtime.ts'
import type { TracingConfig } from '../../src/app/options/tracing-config.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import { createMembersPlugin } from '../../src/proxy/plugins/members.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { systemClock, systemRandom } from '../../src/util/clock.ts'
import { facts } from './cluster-facts.ts'
import type { LogRecord } from './local-process.ts'
import { createTestClient, type TestClient } from './real-parts/http.ts'

export interface WholeService extends TestClient {
  readonly url: string
  readonly service: Service
  /** Log records so far, warnings and worse. */
  readonly log: readonly LogRecord[]
  /** Faults of ours that nobody waited for: each would have ended the process. */
  readonly faults: readonly unknown[]
  /** A cluster joins under this name, reached at `url`. */
  join(name: string, url: string): void
  /** Creates a ResourceRegistry of all clusters for these kinds (`v1/Pod`). */
  register(name: string, ...kinds: string[]): Promise<void>
  stop(): Promise<void>
}

export interface WholeServiceOptions
  extends Pick<ServiceOptions, 'maxRegistryBytes' | 'rights'>, Partial<Pick<ServiceOptions, 'lastPlugin'>> {
  /** Default 1,000. */
  readonly maxStreams?: number
  /** Default: no limit. */
  readonly maxStreamsPerUser?: number
  readonly maxObjectsPerResource?: number
  readonly maxResourcesPerCluster?: number
  /** Default: one user, `tester`. */
  readonly authenticate?: Authenticator
  /** Default: everybody may do everything. */
  readonly authorize?: Authorizer
  /** Default: HTTP. */
  readonly tls?: TlsOptions
  /** CA of `tls`, for the client. */
  readonly caPem?: string
  readonly patience?: Patience
  /** Default: no traces. */
  readonly tracing?: TracingConfig
}

const SEARCH = '/apis/search.karmada.io/v1alpha1'

const TESTER = { name: 'tester', uid: '', groups: ['system:authenticated'], extra: {} }

export async function startWholeService({
  tls,
  caPem,
  patience,
  tracing,
  maxStreams = 1_000,
  maxStreamsPerUser = 0,
  maxObjectsPerResource = Infinity,
  maxResourcesPerCluster = Infinity,
  authenticate = () => TESTER,
  authorize = allowAll,
  ...options
}: WholeServiceOptions = {}): Promise<WholeService> {
  const log: LogRecord[] = []
  const faults: unknown[] = []
  const logger = createLogger('warn', { write: (line) => void log.push(JSON.parse(line) as LogRecord) })
  const runtime: Runtime = { log: logger, clock: systemClock, random: systemRandom, print: () => undefined }
  const lifecycle = new Lifecycle(logger, systemClock)
  const folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-service-'))
  lifecycle.onStop('folder', () => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
  const service = await createService({
    config: {
      logLevel: 'warn',
      logFormat: 'json',
      staleClusters: 'keep',
      syncTimeoutMs: 5_000,
      watchWindowBytes: 1 << 20,
      maxObjectsPerResource,
      maxResourcesPerCluster,
      maxStreams,
      maxStreamsPerUser,
      rights: 'off',
      dataDir: folder,
      proxyPlugins: [],
      warnings: [],
      tracing,
    },
    runtime,
    lifecycle,
    folder,
    search: true,
    proxy: true,
    lastPlugin: (parts) => createMembersPlugin({ ...parts, ...runtime }),
    onFault: (error) => faults.push(error),
    ...options,
  })
  service.start(() => true)
  const server = await serveHttp(
    service,
    {
      listen: {
        host: '127.0.0.1',
        port: 0,
        ...(tls === undefined ? {} : { tls }),
        ...(patience === undefined ? {} : { patience }),
      },
      authenticate,
      authorize,
      alwaysAllowPaths: [],
      inFlight: { readOnly: 400, mutating: 200 },
      requestTimeoutMs: 60_000,
      shutdown: { delayMs: 0 },
    },
    runtime,
    lifecycle,
  )
  const client = createTestClient({ url: server.url, ...(caPem === undefined ? {} : { caPem }) })
  return {
    ...client,
    url: server.url,
    service,
    log,
    faults,
    join(name, url) {
      const credentials = { current: () => Promise.resolve({ tls: {}, headers: {} }) }
      const member = createMemberClient({ server: url, credentials, qps: 0, clock: systemClock })
      service.fleet.engage(facts(name), member, { identity: 'impersonated', client: member })
    },
    async register(name, ...kinds) {
      const resourceSelectors = kinds.map((text) => {
        const at = text.lastIndexOf('/')
        return { apiVersion: text.slice(0, at), kind: text.slice(at + 1) }
      })
      await client.ok(`${SEARCH}/resourceregistries`, {
        body: {
          apiVersion: 'search.karmada.io/v1alpha1',
          kind: 'ResourceRegistry',
          metadata: { name },
          spec: { targetCluster: {}, resourceSelectors },
        },
      })
    },
    async stop() {
      await client.close()
      for (const { facts } of service.fleet.members()) service.fleet.disengage(facts.name, 'left')
      await lifecycle.stop(5_000)
    },
  }
}

/** Polls until it holds; rejects after `limitMs`. */
export async function eventually(
  holds: () => Promise<boolean> | boolean,
  what: string,
  limitMs = 30_000,
): Promise<void> {
  const deadline = performance.now() + limitMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${limitMs} ms`)
    await delay(20)
  }
}

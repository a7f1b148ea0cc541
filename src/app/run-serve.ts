/** `serve`: the aggregated API server inside Karmada. */
import type { Auditor } from '../apiserver/audit/auditor.ts'
import { firstOf, type Authenticator } from '../apiserver/authn/authenticator.ts'
import { bearerTokenAuthenticator } from '../apiserver/authn/bearer-token.ts'
import { requestHeaderAuthenticator } from '../apiserver/authn/request-header.ts'
import { x509Authenticator } from '../apiserver/authn/x509.ts'
import type { Authorizer } from '../apiserver/authz/authorizer.ts'
import { subjectAccessReviewAuthorizer } from '../apiserver/authz/subject-access-review.ts'
import { createCors } from '../apiserver/cors.ts'
import { OutageLog } from '../apiserver/outage-log.ts'
import { ReviewMetrics } from '../apiserver/review-metrics.ts'
import type { MemberClient } from '../fleet/member.ts'
import type { ObserveObjects } from '../fleet/observe-objects.ts'
import { KarmadaClusterProvider } from '../fleet/karmada/karmada-provider.ts'
import { observeObjects } from '../informer/observe-objects.ts'
import { createKarmadaPlugin } from '../proxy/plugins/karmada.ts'
import { openAudit } from './audit.ts'
import { callerReads } from './caller-reads.ts'
import { LiveTrust } from './authentication.ts'
import {
  controlPlaneClient,
  NO_LIMITS,
  REVIEW_LIMITS,
  reviewPoster,
  SUBJECT_ACCESS_REVIEWS,
  TOKEN_REVIEWS,
  type ClientLimits,
} from './control-plane.ts'
import { openDataFolder } from './data-folder.ts'
import { learnFromHost } from './host-discovery.ts'
import { serveHttp } from './http-server.ts'
import { ELECTION_LIMITS, electedBy } from './leadership.ts'
import { controlPlaneInstallation } from './installation.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { ServeConfig } from './options/config.ts'
import { openProfiling } from './profiling.ts'
import { serveRights } from './rights.ts'
import { openPeers, PEER_LIMITS } from './peers.ts'
import { createService, type Service, type ServiceOptions } from './service.ts'
import type { Runtime } from './runtime.ts'
import { tlsOptions } from './tls.ts'
import { registryEncryption } from './registry-encryption.ts'
import { WatchedFiles } from './watched-files.ts'

export async function runServe(
  config: ServeConfig,
  runtime: Runtime,
  lifecycle: Lifecycle,
  onFault: (error: unknown) => void,
): Promise<void> {
  const { log, clock, random } = runtime
  const connect = clientMaker(config, runtime, lifecycle)
  const limits: ClientLimits = { qps: config.kubeApiQps, burst: config.kubeApiBurst }
  const host = await connect('control plane client', config.kubeconfig, limits)
  const observing = {
    clock,
    random,
    onError: (err: unknown) => {
      log.debug({ err }, 'the control plane’s objects cannot be followed; retrying')
    },
  }
  const observe: ObserveObjects = (client, target, observer, signal) =>
    observeObjects(client, target, observer, observing, signal)
  const folder = await openDataFolder(config.dataDir)
  lifecycle.onStop('data folder', () => folder.release())
  const encryption = config.etcd?.encryption
  const service = await createService({
    config,
    runtime,
    lifecycle,
    folder: folder.path,
    etcd: config.etcd,
    transformer: encryption && (await registryEncryption(encryption, runtime, lifecycle, onFault)),
    search: config.search,
    proxy: config.proxy,
    rights: await serveRights(config, runtime, lifecycle, () =>
      connect('rights client', config.authorizationKubeconfig, REVIEW_LIMITS),
    ),
    leadership: await electedBy(config.leaderElection, runtime, () =>
      connect('leader election client', config.kubeconfig, ELECTION_LIMITS),
    ),
    peers: peersOf(config, connect, runtime, lifecycle, onFault),
    installation: controlPlaneInstallation(host),
    secrets: { client: host, observe },
    lastPlugin: (parts) => createKarmadaPlugin({ ...parts, host, clock, random }),
    // Apart, so that nothing else waits for these.
    controlPlane: callerReads(
      await connect('related client', config.kubeconfig, limits),
      new OutageLog(log, clock, 'search/related goes without what the control plane has'),
    ),
    onFault,
  })
  const clusters = new KarmadaClusterProvider({
    controlPlane: host,
    observe,
    fleet: service.fleet,
    environment: config.environment,
    qps: config.clusterApiQps,
    burst: config.clusterApiBurst,
    clock,
    logger: log,
  })
  const learning = { client: host, known: service.discovery.known, clock, random, logger: log }
  lifecycle.run('host discovery', (signal) => learnFromHost(learning, signal), onFault)
  lifecycle.run('clusters', (signal) => clusters.run(signal), onFault)
  service.start(() => clusters.synced)
  const access = await openAccess(config, connect, service, runtime, lifecycle, onFault)
  await serveHttp(
    service,
    {
      listen: {
        host: config.serving.bindAddress,
        port: config.serving.securePort,
        sharePort: config.serving.sharePort,
        tls: await tlsOptions(config.serving, access.files, runtime),
      },
      authenticate: access.authenticate,
      authorize: access.authorize,
      checks: [access.trust.check],
      alwaysAllowPaths: config.alwaysAllowPaths,
      inFlight: { readOnly: config.maxRequestsInflight, mutating: config.maxMutatingRequestsInflight },
      routes: await openProfiling(config.profiling, runtime, lifecycle),
      requestTimeoutMs: config.requestTimeoutMs,
      minWatchSeconds: config.minRequestTimeoutSeconds,
      ...(config.serving.hsts === undefined ? {} : { headers: { 'strict-transport-security': config.serving.hsts } }),
      ...(config.corsAllowedOrigins.length === 0 ? {} : { cors: createCors(config.corsAllowedOrigins) }),
      ...(access.audit === undefined ? {} : { audit: access.audit }),
      shutdown: config.shutdown,
    },
    runtime,
    lifecycle,
  ).then((server) => {
    service.serving()
    log.info({ url: server.url }, 'serving')
  })
}

type Connect = (what: string, kubeconfig: string | undefined, limits: ClientLimits) => Promise<MemberClient>

function clientMaker(config: ServeConfig, { clock }: Runtime, lifecycle: Lifecycle): Connect {
  return async (what, kubeconfig, limits) => {
    const client = await controlPlaneClient(limits, kubeconfig ?? config.kubeconfig, config.environment, clock)
    lifecycle.onStop(what, () => client.close())
    return client
  }
}

function peersOf(
  { peers, syncTimeoutMs, kubeconfig }: ServeConfig,
  connect: Connect,
  runtime: Runtime,
  lifecycle: Lifecycle,
  onFault: (error: unknown) => void,
): ServiceOptions['peers'] {
  if (peers === undefined) return undefined
  return async ({ metrics }) => {
    const client = await connect('peers client', kubeconfig, PEER_LIMITS)
    return openPeers({ config: peers, client, metrics, runtime, lifecycle, syncTimeoutMs, onFault })
  }
}

interface Access {
  readonly files: WatchedFiles
  readonly trust: LiveTrust
  readonly authenticate: Authenticator
  readonly authorize: Authorizer
  readonly audit: Auditor | undefined
}

/** Who may come in, and what is written down of it. Rejects where nobody could be told apart. */
async function openAccess(
  config: ServeConfig,
  connect: Connect,
  { metrics }: Service,
  runtime: Runtime,
  lifecycle: Lifecycle,
  onFault: (error: unknown) => void,
): Promise<Access> {
  const { clock, random, log } = runtime
  const audit =
    config.audit === undefined
      ? undefined
      : await openAudit(config.audit, {
          runtime,
          metrics,
          lifecycle,
          connect: (kubeconfig) => connect('audit webhook client', kubeconfig, NO_LIMITS),
        })
  const identifying = await connect('authentication client', config.authentication.kubeconfig, REVIEW_LIMITS)
  const reviewing = await connect('authorization client', config.authorizationKubeconfig, REVIEW_LIMITS)
  const stop = new AbortController()
  lifecycle.onStop('reviews', () => {
    stop.abort(new Error('shutting down'))
  })
  const files = new WatchedFiles(clock, log)
  const trust = new LiveTrust({ config: config.authentication, files, client: identifying, clock, random, log })
  await trust.loadFiles()
  lifecycle.run('files', (signal) => files.run(signal), onFault)
  if (trust.needsLookup) {
    lifecycle.run('authentication', (signal) => trust.follow(signal), onFault)
    await trust.lookedUp(stop.signal)
  }
  const common = { monotonicMs: () => clock.monotonicMs(), signal: stop.signal }
  return {
    files,
    trust,
    audit,
    // The front proxy first: its certificate may never pass for an ordinary one.
    authenticate: firstOf([
      requestHeaderAuthenticator(trust.source, clock),
      x509Authenticator(trust.source, clock),
      bearerTokenAuthenticator({
        ...common,
        post: reviewPoster({
          client: identifying,
          path: TOKEN_REVIEWS,
          metrics: new ReviewMetrics(metrics, 'authn'),
          clock,
        }),
        ttlMs: config.authentication.tokenTtlMs,
      }),
    ]),
    authorize: subjectAccessReviewAuthorizer({
      ...common,
      post: reviewPoster({
        client: reviewing,
        path: SUBJECT_ACCESS_REVIEWS,
        metrics: new ReviewMetrics(metrics, 'authz'),
        clock,
      }),
      authorizedTtlMs: config.authorizedTtlMs,
      unauthorizedTtlMs: config.unauthorizedTtlMs,
    }),
  }
}

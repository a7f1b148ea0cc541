/** `serve`: the aggregated API server inside Karmada. */
import { readFile } from 'node:fs/promises'
import { firstOf, type Authenticator } from '../apiserver/authn/authenticator.ts'
import { parseBundle } from '../apiserver/authn/certificate-chain.ts'
import { requestHeaderAuthenticator } from '../apiserver/authn/request-header.ts'
import { x509Authenticator } from '../apiserver/authn/x509.ts'
import { subjectAccessReviewAuthorizer } from '../apiserver/authz/subject-access-review.ts'
import type { TlsOptions } from '../apiserver/server.ts'
import { KarmadaClusterProvider } from '../fleet/karmada/karmada-provider.ts'
import { observeObjects } from '../informer/observe-objects.ts'
import { createKarmadaPlugin } from '../proxy/plugins/karmada.ts'
import { controlPlaneClient, postReviewTo } from './control-plane.ts'
import { openDataFolder } from './data-folder.ts'
import { learnFromHost } from './host-discovery.ts'
import { serveHttp } from './http-server.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { ServeConfig } from './options/config.ts'
import { createService, type Runtime } from './service.ts'
import { servingCertificate } from './serving-certificate.ts'

export async function runServe(
  config: ServeConfig,
  runtime: Runtime,
  lifecycle: Lifecycle,
  onFault: (error: unknown) => void,
): Promise<void> {
  const { log, clock, random } = runtime
  log.warn('whoever may get search sees every cached object of every cluster, as with karmada-search')
  const host = await controlPlaneClient(config, config.kubeconfig, config.environment, clock)
  lifecycle.onStop('control plane client', () => host.close())
  const reviewer =
    config.authorizationKubeconfig === undefined
      ? host
      : await controlPlaneClient(config, config.authorizationKubeconfig, config.environment, clock)
  if (reviewer !== host) lifecycle.onStop('authorization client', () => reviewer.close())
  const folder = await openDataFolder(config.dataDir)
  lifecycle.onStop('data folder', () => folder.release())
  const service = await createService({
    config,
    runtime,
    lifecycle,
    folder: folder.path,
    search: config.search,
    proxy: config.proxy,
    lastPlugin: (parts) => createKarmadaPlugin({ ...parts, host, clock, random }),
    onFault,
  })
  const observing = {
    clock,
    random,
    onError: (err: unknown) => {
      log.debug({ err }, 'the control plane’s objects cannot be followed; retrying')
    },
  }
  const clusters = new KarmadaClusterProvider({
    controlPlane: host,
    observe: (client, target, observer, signal) => observeObjects(client, target, observer, observing, signal),
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
  const identity = await identityOf(config, runtime)
  await serveHttp(
    service,
    {
      listen: {
        host: config.bindAddress,
        port: config.securePort,
        tls: await tlsOf(config, identity.bundles, clock.nowMs()),
      },
      authenticate: identity.authenticate,
      authorize: subjectAccessReviewAuthorizer({
        post: postReviewTo(reviewer),
        authorizedTtlMs: config.authorizedTtlMs,
        unauthorizedTtlMs: config.unauthorizedTtlMs,
        monotonicMs: () => clock.monotonicMs(),
      }),
      alwaysAllowPaths: config.alwaysAllowPaths,
      maxInflight: config.maxRequestsInflight,
      requestTimeoutMs: config.requestTimeoutMs,
      shutdownDelayMs: config.shutdownDelayMs,
    },
    runtime,
    lifecycle,
  ).then((server) => {
    log.info({ url: server.url }, 'serving')
  })
}

interface Identity {
  readonly authenticate: Authenticator
  /** CA bundles hinted to TLS clients. */
  readonly bundles: readonly string[]
}

/** Front-proxy headers first: its certificate may never pass for an ordinary one. */
async function identityOf(config: ServeConfig, { clock, log }: Runtime): Promise<Identity> {
  const authenticators: Authenticator[] = []
  const bundles: string[] = []
  if (config.requestHeader !== undefined) {
    const { clientCaFile, ...names } = config.requestHeader
    const pem = await readFile(clientCaFile, 'utf8')
    const roots = parseBundle(pem)
    bundles.push(pem)
    authenticators.push(requestHeaderAuthenticator({ ...names, roots: () => roots, clock }))
  }
  if (config.clientCaFile !== undefined) {
    const pem = await readFile(config.clientCaFile, 'utf8')
    const roots = parseBundle(pem)
    bundles.push(pem)
    authenticators.push(x509Authenticator(() => roots, clock))
  }
  if (authenticators.length === 0) {
    log.warn('neither --client-ca-file nor --requestheader-client-ca-file: every request is refused as unauthenticated')
  }
  return { authenticate: firstOf(authenticators), bundles }
}

async function tlsOf(config: ServeConfig, clientCas: readonly string[], nowMs: number): Promise<TlsOptions> {
  const { certificate, key } = await servingCertificate(config, nowMs)
  return { certificate, key, minVersion: config.tlsMinVersion, clientCas }
}

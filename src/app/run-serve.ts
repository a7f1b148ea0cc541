/** `serve`: the aggregated API server inside Karmada. */
import { readFile } from 'node:fs/promises'
import { firstOf, type Authenticator } from '../apiserver/authn/authenticator.ts'
import { parseBundle } from '../apiserver/authn/certificate-chain.ts'
import { requestHeaderAuthenticator } from '../apiserver/authn/request-header.ts'
import { x509Authenticator } from '../apiserver/authn/x509.ts'
import { subjectAccessReviewAuthorizer } from '../apiserver/authz/subject-access-review.ts'
import type { TlsOptions } from '../apiserver/server.ts'
import { createKarmadaPlugin } from '../proxy/plugins/karmada.ts'
import { controlPlaneClient, postReviewTo } from './control-plane.ts'
import { openDataFolder } from './data-folder.ts'
import { serveHttp } from './http-server.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { ServeConfig } from './options/config.ts'
import { createService, type Runtime } from './service.ts'

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
  service.start()
}

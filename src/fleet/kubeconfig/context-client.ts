/** A client for one context of a kubeconfig: a member of `up`, or the control plane of `serve`. */
import type { Clock } from '../../util/clock.ts'
import { environmentProxy, type Environment } from '../environment-proxy.ts'
import { createMemberClient } from '../member-client.ts'
import { MemberError } from '../member-error.ts'
import type { MemberClient } from '../member.ts'
import { ContextCredentials } from './context-credentials.ts'
import { loadKubeconfig, type KubeContext, type Kubeconfig } from './kubeconfig.ts'

export interface ContextClientOptions {
  readonly clock: Clock
  /** For exec plugins (their PATH, HOME, AWS_PROFILE, …), and HTTPS_PROXY where the cluster has no proxy-url. */
  readonly environment: Environment
  readonly qps?: number
  readonly burst?: number
  readonly userAgent?: string
}

/** `latest` is asked for the context's present credentials; its server and proxy are fixed by `context`. */
export function contextClient(
  context: KubeContext,
  latest: () => KubeContext | Promise<KubeContext>,
  options: ContextClientOptions,
): MemberClient {
  const { cluster } = context
  const { clock, environment, ...limits } = options
  const proxy = cluster.proxyUrl ?? environmentProxy(cluster.server, environment)
  return createMemberClient({
    server: cluster.server,
    credentials: new ContextCredentials({ context: latest, environment, clock }),
    ...(proxy === undefined ? {} : { proxy: { url: proxy } }),
    compress: !cluster.disableCompression,
    clock,
    ...limits,
  })
}

/**
 * A client for a context of these files (default: their current one); credentials follow changes of the files. Rejects
 * with `MemberError`: `auth` for files that cannot be read, `unreachable` for a context that is not in them.
 */
export async function kubeconfigClient(
  files: readonly string[],
  contextName: string | undefined,
  options: ContextClientOptions,
): Promise<MemberClient> {
  const find = async (): Promise<KubeContext> => contextOf(await loadKubeconfig(files), contextName)
  return contextClient(await find(), find, options)
}

/** Throws a `MemberError` of code `unreachable` where it is not there. */
export function contextOf(kubeconfig: Kubeconfig, name: string | undefined): KubeContext {
  const wanted = name ?? kubeconfig.currentContext
  const context = kubeconfig.contexts.find((candidate) => candidate.name === wanted)
  if (context !== undefined) return context
  const fault = kubeconfig.faults.find((text) => text.startsWith(`context ${wanted}:`))
  const what = wanted === '' ? 'no current context' : `no context ${JSON.stringify(wanted)}`
  throw new MemberError('unreachable', `kubeconfig: ${fault ?? what}`)
}

const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * A client for the cluster whose Pod we are; undefined outside of one. Token and CA are files that the kubelet rotates.
 * Source: client-go rest/config.go, InClusterConfig.
 */
export function inClusterClient(
  options: ContextClientOptions,
  folder: string = SERVICE_ACCOUNT_FOLDER,
): MemberClient | undefined {
  const host = options.environment['KUBERNETES_SERVICE_HOST'] ?? ''
  const port = options.environment['KUBERNETES_SERVICE_PORT'] ?? ''
  if (host === '' || port === '') return undefined
  const context: KubeContext = {
    name: 'in-cluster',
    clusterName: 'in-cluster',
    userName: 'in-cluster',
    cluster: {
      server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      caFile: `${folder}/ca.crt`,
      insecureSkipVerify: false,
      disableCompression: false,
    },
    user: { tokenFile: `${folder}/token`, impersonateGroups: [], impersonateExtra: {} },
  }
  return contextClient(context, () => context, options)
}

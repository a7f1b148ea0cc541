/**
 * A control plane that looks like Karmada's to a reader (the Cluster CRD, Cluster objects, their Secrets), real members,
 * and `fleetsearch serve` as a process behind a real APIService.
 */
import { AssertionError } from 'node:assert'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createAuthority } from './certificates.ts'
import { freePorts } from './free-port.ts'
import { startControlPlane, startGuarded, type GuardedProcess, type RealCluster } from './real-parts/index.ts'

export const BASE = '/apis/search.karmada.io/v1alpha1'
export const CACHE = `${BASE}/search/cache`
export const PROXY = `${BASE}/proxying/karmada/proxy`

export interface KarmadaFleet {
  readonly host: RealCluster
  readonly members: readonly RealCluster[]
  /** Registers a member as a Cluster with its two Secrets; `url` when it is reached through something else. */
  join(member: RealCluster, options?: JoinOptions): Promise<void>
  /** Applies a ResourceRegistry through the APIService. */
  register(name: string, spec: object): Promise<void>
  stop(): Promise<void>
}

export interface JoinOptions {
  readonly name?: string
  readonly url?: string
  readonly labels?: Readonly<Record<string, string>>
  /** More of the Cluster's spec, e.g. `proxyURL`. */
  readonly spec?: object
}

export interface ServeProcess {
  readonly process: GuardedProcess
  readonly port: number
  readonly url: string
  readonly caPem: string
  /** Stops it and starts it again on the same port. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const READER_TOKEN = 'karmada-reads-members'
const IMPERSONATOR_TOKEN = 'karmada-impersonates'

/** Users of the control plane that tests act as; `viewer` may use search and proxying once bound. */
export const HOST_USERS = [
  { name: 'viewer', token: 'viewer-token', groups: ['viewers'] },
  { name: 'nobody', token: 'nobody-token' },
  { name: 'team:bob', token: 'bob-token', groups: ['équipe'] },
]

export interface FleetOptions {
  /** Which members are registered at once; default all. */
  readonly joined?: readonly string[]
  /** More flags of a member's kube-apiserver, by its name. */
  readonly flags?: Readonly<Record<string, readonly string[]>>
}

export async function startKarmadaFleet(
  memberNames: readonly string[],
  { joined = memberNames, flags = {} }: FleetOptions = {},
): Promise<KarmadaFleet> {
  const users = [
    { name: 'karmada', token: READER_TOKEN, groups: ['system:masters'] },
    { name: 'karmada-impersonator', token: IMPERSONATOR_TOKEN },
  ]
  const [host, ...members] = await Promise.all([
    // It may be registered as one of its own clusters.
    startControlPlane({ name: 'host', users: [...HOST_USERS, ...users] }),
    ...memberNames.map((name) => startControlPlane({ name, users, flags: flags[name] ?? [] })),
  ])
  for (const cluster of [host, ...members]) await letImpersonate(cluster)
  await prepareHost(host)
  const fleet: KarmadaFleet = {
    host,
    members,
    join: (member, options) => join(host, member, options),
    async register(name, spec) {
      const registry = { apiVersion: 'search.karmada.io/v1alpha1', kind: 'ResourceRegistry', metadata: { name }, spec }
      await host.ok(`${BASE}/resourceregistries`, { body: registry })
    },
    async stop() {
      await Promise.all([host, ...members].map((cluster) => cluster.stop()))
    },
  }
  for (const member of members) if (joined.includes(member.name)) await fleet.join(member)
  return fleet
}

/** As Karmada does it in a cluster that joins: users, groups and service accounts, and no more of an identity. */
async function letImpersonate(member: RealCluster): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const apiGroup = 'rbac.authorization.k8s.io'
  const metadata = { name: 'karmada-impersonator' }
  const rules = [{ apiGroups: [''], resources: ['users', 'groups', 'serviceaccounts'], verbs: ['impersonate'] }]
  await member.ok(`${rbac}/clusterroles`, { body: { metadata, rules } })
  const roleRef = { apiGroup, kind: 'ClusterRole', name: metadata.name }
  const subjects = [{ apiGroup, kind: 'User', name: 'karmada-impersonator' }]
  await member.ok(`${rbac}/clusterrolebindings`, { body: { metadata, roleRef, subjects } })
}

/** Makes a control plane look like Karmada's: the Cluster CRD and its namespaces. */
export async function prepareHost(host: RealCluster): Promise<void> {
  await host.ok('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body: CLUSTER_CRD })
  for (const name of ['karmada-system', 'karmada-cluster']) {
    await host.ok('/api/v1/namespaces', { body: { metadata: { name } } })
  }
  await until(
    async () => (await host.request('/apis/cluster.karmada.io/v1alpha1/clusters')).status === 200,
    'the Cluster CRD',
  )
}

const CLUSTER_CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'clusters.cluster.karmada.io' },
  spec: {
    group: 'cluster.karmada.io',
    scope: 'Cluster',
    names: { plural: 'clusters', singular: 'cluster', kind: 'Cluster', listKind: 'ClusterList' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        subresources: { status: {} },
      },
    ],
  },
}

async function join(host: RealCluster, member: RealCluster, options: JoinOptions = {}): Promise<void> {
  const name = options.name ?? member.name
  const secrets = '/api/v1/namespaces/karmada-cluster/secrets'
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const access = { token: base64(READER_TOKEN), caBundle: base64(member.caPem) }
  await host.ok(secrets, { body: { metadata: { name }, data: access } })
  await host.ok(secrets, {
    body: { metadata: { name: `${name}-impersonator` }, data: { token: base64(IMPERSONATOR_TOKEN) } },
  })
  const clusters = '/apis/cluster.karmada.io/v1alpha1/clusters'
  await host.ok(clusters, {
    body: {
      apiVersion: 'cluster.karmada.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name, labels: options.labels ?? {} },
      spec: {
        apiEndpoint: options.url ?? member.url,
        syncMode: 'Push',
        secretRef: { namespace: 'karmada-cluster', name },
        impersonatorSecretRef: { namespace: 'karmada-cluster', name: `${name}-impersonator` },
        ...options.spec,
      },
    },
  })
  await setReady(host, name, true)
}

/** Sets the Cluster's Ready condition, as Karmada's agent would. */
export async function setReady(host: RealCluster, name: string, ready: boolean): Promise<void> {
  const condition = {
    type: 'Ready',
    status: ready ? 'True' : 'False',
    reason: 'Test',
    message: '',
    lastTransitionTime: '2026-11-30T00:00:00Z',
  }
  await host.ok(`/apis/cluster.karmada.io/v1alpha1/clusters/${name}/status`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ status: { conditions: [condition] } }),
  })
}

export interface ServeOptions {
  /** More flags; the last of one name wins. */
  readonly flags?: readonly string[]
  /** Who may vouch for callers is looked up in the control plane. Default: named by flags. */
  readonly lookup?: boolean
  /** Default: that of the control plane's admin. */
  readonly kubeconfigPath?: string
}

/** Starts `fleetsearch serve` and the APIService in front of it; resolves when the APIService is Available. */
export async function startServe(host: RealCluster, options: ServeOptions = {}): Promise<ServeProcess> {
  const [port] = await freePorts(1)
  const caPem = await issueServing(host)
  const start = (): Promise<GuardedProcess> => spawnServe(host, { ...options, port: port!, name: 'fleetsearch' })
  let running = await start()
  await installApiService(host, port!, caPem)
  const url = `https://127.0.0.1:${port!}`
  await untilAvailable(host, () => running)
  return {
    get process() {
      return running
    },
    port: port!,
    url,
    caPem,
    async restart() {
      await running.stop()
      running = await start()
      await untilAvailable(host, () => running)
    },
    stop: () => running.stop(),
  }
}

/** A serving certificate in the host's folder, for every replica; returns its CA. */
export async function issueServing(host: RealCluster): Promise<string> {
  const authority = await createAuthority('serving')
  const pair = await authority.issue({
    commonName: 'karmada-search',
    dnsNames: ['karmada-search.karmada-system.svc', 'localhost'],
    ips: ['127.0.0.1'],
  })
  await Promise.all([
    writeFile(path.join(host.folder, 'search.crt'), pair.certPem),
    writeFile(path.join(host.folder, 'search.key'), pair.keyPem, { mode: 0o600 }),
  ])
  return authority.certPem
}

export interface SpawnOptions extends ServeOptions {
  readonly port: number
  /** Of its log and its data. */
  readonly name: string
}

/** One `fleetsearch serve`, with the certificate of `issueServing`. Resolves when the process runs. */
export function spawnServe(host: RealCluster, options: SpawnOptions): Promise<GuardedProcess> {
  const file = (name: string): string => path.join(host.folder, name)
  return startGuarded({
    command: process.execPath,
    args: [
      path.join(import.meta.dirname, '../../bin/fleetsearch.js'),
      'serve',
      ...serveFlags(host, options.port, options.name, file),
      ...(options.lookup === true ? [] : trustFlags(host)),
      ...(options.kubeconfigPath === undefined ? [] : [`--kubeconfig=${options.kubeconfigPath}`]),
      ...(options.flags ?? []),
    ],
    logPath: file(`${options.name}.log`),
  })
}

/** The APIService and, behind it, whatever listens on this port of localhost. */
export async function installApiService(host: RealCluster, port: number, caPem: string): Promise<void> {
  await host.ok('/api/v1/namespaces/karmada-system/services', {
    body: {
      metadata: { name: 'karmada-search' },
      spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
    },
  })
  await host.ok('/apis/apiregistration.k8s.io/v1/apiservices', { body: apiService(port, caPem) })
}

function serveFlags(host: RealCluster, port: number, name: string, file: (name: string) => string): string[] {
  return [
    `--kubeconfig=${host.kubeconfigPath}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--tls-cert-file=${file('search.crt')}`,
    `--tls-private-key-file=${file('search.key')}`,
    `--data-dir=${file(`${name}-data`)}`,
    '--log-level=info',
  ]
}

function trustFlags(host: RealCluster): string[] {
  return [
    `--client-ca-file=${host.pki.file('ca.crt')}`,
    `--requestheader-client-ca-file=${host.pki.file('front-proxy-ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
  ]
}

function apiService(port: number, caPem: string): object {
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1alpha1.search.karmada.io' },
    spec: {
      group: 'search.karmada.io',
      version: 'v1alpha1',
      groupPriorityMinimum: 2000,
      versionPriority: 10,
      caBundle: Buffer.from(caPem).toString('base64'),
      service: { namespace: 'karmada-system', name: 'karmada-search', port },
    },
  }
}

async function untilAvailable(host: RealCluster, serve: () => GuardedProcess): Promise<void> {
  await until(async () => {
    if (!serve().running) throw new Error(`fleetsearch ended:\n${serve().logTail()}`)
    const answer = await host.request(BASE)
    return answer.status === 200
  }, 'the APIService')
}

/**
 * Polls until the condition holds; for what happens in other processes. A condition that throws (an answer that is not there
 * yet) does not hold; what it asserts has to hold at each look. Rejects after `limitMs` (default 60 s), with what it threw last.
 */
export async function until(condition: () => Promise<boolean>, what: string, limitMs = 60_000): Promise<void> {
  const deadline = performance.now() + limitMs
  for (;;) {
    let cause: unknown
    try {
      if (await condition()) return
    } catch (error) {
      if (error instanceof AssertionError) throw error
      cause = error
    }
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${limitMs} ms`, { cause })
    await delay(50)
  }
}

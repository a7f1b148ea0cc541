/**
 * A real Kubernetes API: etcd and kube-apiserver on free ports of 127.0.0.1 with a PKI of their own, RBAC, static tokens,
 * and what the aggregation layer needs. Serves as the control plane and as members alike. Ready in about 5 s; nothing
 * of it survives the test's process (guard.sh). About 300 MB resident.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePorts } from '../free-port.ts'
import { apiServerFlags, etcdFlags } from './flags.ts'
import { binaries } from './binaries.ts'
import { startGuarded, type GuardedProcess } from './guarded-process.ts'
import { createTestClient, type TestClient } from './http.ts'
import { kubectl, tryKubectl, type KubectlOptions, type KubectlResult } from './kubectl.ts'
import { createPki, type Pki } from './pki.ts'

export interface StaticUser {
  readonly name: string
  readonly token: string
  readonly groups?: readonly string[]
}

export interface ControlPlaneOptions {
  /** Shows in paths, the kubeconfig's context and certificates. */
  readonly name: string
  /** Users of `--token-auth-file`, beside `admin` of `system:masters` (`adminToken`). */
  readonly users?: readonly StaticUser[]
  /** More flags of kube-apiserver, `--name=value`; the last of one name wins. */
  readonly flags?: readonly string[]
}

export interface RestartOptions {
  /** Empties etcd: the same address and certificates with no history and no objects. Default: keeps it. */
  readonly freshEtcd?: boolean
}

export interface RealCluster extends Omit<TestClient, 'close'> {
  readonly name: string
  /** `https://127.0.0.1:PORT`; stays the same over restarts. */
  readonly url: string
  readonly caPem: string
  readonly pki: Pki
  readonly adminToken: string
  /** Current context = `name`; authenticates by the admin's client certificate. */
  readonly kubeconfigPath: string
  /** A scratch folder, removed at `stop`. */
  readonly folder: string
  readonly apiServer: GuardedProcess
  readonly etcd: GuardedProcess
  /** `http://127.0.0.1:PORT`. */
  readonly etcdUrl: string
  /** kubectl as admin; rejects where it fails. */
  kubectl(args: readonly string[], options?: Omit<KubectlOptions, 'kubeconfig'>): Promise<string>
  tryKubectl(args: readonly string[], options?: Omit<KubectlOptions, 'kubeconfig'>): Promise<KubectlResult>
  /** Sends a signal to the API server (default KILL; STOP and CONT make it hang) and, for one that ends it, waits. */
  kill(signal?: 'KILL' | 'TERM' | 'STOP' | 'CONT'): Promise<void>
  /** Kills what runs and starts it again on the same port. For a clean end of its watches `kill('TERM')` first (5 s). */
  restart(options?: RestartOptions): Promise<void>
  /** Forgets all history in etcd up to now, as a compaction does; the API server's watch cache keeps its own. */
  compact(): Promise<void>
  stop(): Promise<void>
}

const READY_TIMEOUT_MS = 90_000
const POLL_MS = 50

export async function startControlPlane(options: ControlPlaneOptions): Promise<RealCluster> {
  const bin = await binaries('etcd', 'kube-apiserver', 'kubectl')
  const folder = await mkdtemp(path.join(tmpdir(), `fleetsearch-${options.name}-`))
  const [[port, etcdPort, peerPort], pki] = await Promise.all([freePorts(3), createPki(folder, options.name)])
  const url = `https://127.0.0.1:${String(port)}`
  const adminToken = `admin-of-${options.name}`
  const kubeconfigPath = await writeAccess(folder, url, pki, adminToken, options)
  const etcdUrl = `http://127.0.0.1:${String(etcdPort)}`
  const client = createTestClient({ url, caPem: pki.authority.certPem, token: adminToken })

  const startEtcd = (): Promise<GuardedProcess> =>
    startGuarded({
      command: bin.etcd,
      args: etcdFlags({
        folder: path.join(folder, 'etcd'),
        url: etcdUrl,
        peerUrl: `http://127.0.0.1:${String(peerPort)}`,
      }),
      logPath: path.join(folder, 'etcd.log'),
      folder,
    })
  const startApiServer = async (): Promise<GuardedProcess> => {
    const apiServer = await startGuarded({
      command: bin['kube-apiserver'],
      args: [...apiServerFlags({ port: port!, etcdUrl, pki }), ...(options.flags ?? [])],
      logPath: path.join(folder, 'kube-apiserver.log'),
    })
    await untilReady(client, apiServer, options.name)
    return apiServer
  }
  let etcd = await startEtcd()
  let apiServer = await startApiServer().catch(async (error: unknown) => {
    await etcd.kill()
    throw error
  })
  const cluster: RealCluster = {
    name: options.name,
    url,
    caPem: pki.authority.certPem,
    pki,
    adminToken,
    kubeconfigPath,
    folder,
    get apiServer() {
      return apiServer
    },
    get etcd() {
      return etcd
    },
    etcdUrl,
    request: (requestPath, request) => client.request(requestPath, request),
    ok: (requestPath, request) => client.ok(requestPath, request),
    kubectl: (args, more) => kubectl(args, { ...more, kubeconfig: kubeconfigPath }),
    tryKubectl: (args, more) => tryKubectl(args, { ...more, kubeconfig: kubeconfigPath }),
    async kill(signal = 'KILL') {
      apiServer.signal(signal)
      if (signal === 'KILL' || signal === 'TERM') await apiServer.exited
    },
    async restart({ freshEtcd = false } = {}) {
      await apiServer.kill()
      if (freshEtcd || !etcd.running) {
        await etcd.kill()
        if (freshEtcd) await rm(path.join(folder, 'etcd'), { recursive: true, force: true })
        etcd = await startEtcd()
      }
      apiServer = await startApiServer()
    },
    compact: () => compactEtcd(etcdUrl),
    async stop() {
      await Promise.all([apiServer.kill(), etcd.kill()])
      await client.close()
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
  return cluster
}

async function writeAccess(
  folder: string,
  url: string,
  pki: Pki,
  adminToken: string,
  options: ControlPlaneOptions,
): Promise<string> {
  const users = [{ name: 'admin', token: adminToken, groups: ['system:masters'] }, ...(options.users ?? [])]
  const line = ({ name, token, groups = [] }: StaticUser): string => `${token},${name},${name},"${groups.join(',')}"\n`
  await writeFile(pki.file('tokens.csv'), users.map(line).join(''))
  const kubeconfigPath = path.join(folder, 'kubeconfig')
  await writeFile(
    kubeconfigPath,
    kubeconfig({
      name: options.name,
      url,
      caPem: pki.authority.certPem,
      certPem: pki.admin.certPem,
      keyPem: pki.admin.keyPem,
    }),
  )
  return kubeconfigPath
}

export interface KubeconfigEntry {
  readonly name: string
  readonly url: string
  readonly caPem?: string
  readonly token?: string
  readonly certPem?: string
  readonly keyPem?: string
}

/** A kubeconfig (JSON, which is YAML) with one context of the same name for each entry; the first is the current one. */
export function kubeconfig(...entries: readonly [KubeconfigEntry, ...KubeconfigEntry[]]): string {
  const base64 = (pem: string): string => Buffer.from(pem).toString('base64')
  const clusters = entries.map(({ name, url, caPem }) => ({
    name,
    cluster: { server: url, ...(caPem === undefined ? {} : { 'certificate-authority-data': base64(caPem) }) },
  }))
  const users = entries.map(({ name, token, certPem, keyPem }) => ({
    name,
    user: {
      ...(token === undefined ? {} : { token }),
      ...(certPem === undefined ? {} : { 'client-certificate-data': base64(certPem) }),
      ...(keyPem === undefined ? {} : { 'client-key-data': base64(keyPem) }),
    },
  }))
  const contexts = entries.map(({ name }) => ({ name, context: { cluster: name, user: name } }))
  const head = { apiVersion: 'v1', kind: 'Config', 'current-context': entries[0].name }
  return JSON.stringify({ ...head, clusters, users, contexts }, null, 2)
}

/** Ready, and past the first writes of its start: `default` exists. */
async function untilReady(client: TestClient, server: GuardedProcess, name: string): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS
  for (const path of ['/readyz', '/api/v1/namespaces/default']) {
    while (!(await answers(client, path))) {
      if (!server.running) throw new Error(`kube-apiserver of ${name} ended:\n${server.logTail()}`)
      if (performance.now() > deadline) throw new Error(`kube-apiserver of ${name} is not ready:\n${server.logTail()}`)
      await delay(POLL_MS)
    }
  }
}

async function answers(client: TestClient, path: string): Promise<boolean> {
  try {
    return (await client.request(path, { signal: AbortSignal.timeout(2_000) })).status === 200
  } catch {
    return false
  }
}

async function compactEtcd(url: string): Promise<void> {
  const client = createTestClient({ url })
  try {
    const key = Buffer.from('/registry').toString('base64')
    const { header } = (await client.ok('/v3/kv/range', { body: { key } })) as { header: { revision: string } }
    await client.ok('/v3/kv/compaction', { body: { revision: header.revision, physical: true } })
  } finally {
    await client.close()
  }
}

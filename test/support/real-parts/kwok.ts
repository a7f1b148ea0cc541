/** kwok plays kubelet and scheduler-less node agents: nodes become Ready, pods bound to them run (kwok-stages.yaml). */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePorts } from '../free-port.ts'
import { binaries } from './binaries.ts'
import type { RealCluster } from './control-plane.ts'
import { startGuarded, type GuardedProcess } from './guarded-process.ts'

/** A pod with this annotation keeps whatever status the test gives it. */
export const HANDS_OFF = 'fleetsearch.test/hands-off'

export interface KwokOptions {
  /** Nodes to create; default `node-1` and `node-2`. Pods run once their `spec.nodeName` is one of them. */
  readonly nodes?: readonly string[]
  /** More documents for its configuration: `ClusterExec`, `ClusterLogs`, … */
  readonly config?: string
}

const READY_TIMEOUT_MS = 30_000

/** Resolves when the nodes are Ready. Stop it before its cluster. */
export async function startKwok(cluster: RealCluster, options: KwokOptions = {}): Promise<GuardedProcess> {
  const { kwok } = await binaries('kwok')
  const [port] = await freePorts(1)
  const { certPem, keyPem } = await cluster.pki.authority.issue({ commonName: 'kwok', ips: ['127.0.0.1'] })
  const file = (name: string): string => path.join(cluster.folder, name)
  await Promise.all([
    writeFile(file('kwok.crt'), certPem),
    writeFile(file('kwok.key'), keyPem, { mode: 0o600 }),
    writeFile(file('kwok-more.yaml'), options.config ?? ''),
  ])
  const process = await startGuarded({
    command: kwok,
    args: [
      `--kubeconfig=${cluster.kubeconfigPath}`,
      '--manage-all-nodes',
      '--node-ip=127.0.0.1',
      `--node-port=${String(port)}`,
      `--server-address=127.0.0.1:${String(port)}`,
      `--tls-cert-file=${file('kwok.crt')}`,
      `--tls-private-key-file=${file('kwok.key')}`,
      `--config=${path.join(import.meta.dirname, 'kwok-stages.yaml')}`,
      ...(options.config === undefined ? [] : [`--config=${file('kwok-more.yaml')}`]),
    ],
    logPath: file('kwok.log'),
    // It would otherwise make a ~/.kwok of the user's.
    env: { HOME: cluster.folder },
  })
  const nodes = options.nodes ?? ['node-1', 'node-2']
  for (const name of nodes) await cluster.ok('/api/v1/nodes', { body: node(name) })
  await untilNodesReady(cluster, nodes, process)
  return process
}

const node = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' } },
})

async function untilNodesReady(cluster: RealCluster, nodes: readonly string[], kwok: GuardedProcess): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS
  for (const name of nodes) {
    while (!(await isReady(cluster, name))) {
      if (!kwok.running || performance.now() > deadline)
        throw new Error(`node ${name} is not Ready:\n${kwok.logTail()}`)
      await delay(100)
    }
  }
}

async function isReady(cluster: RealCluster, name: string): Promise<boolean> {
  const { status } = (await cluster.ok(`/api/v1/nodes/${name}`)) as {
    status?: { conditions?: { type: string; status: string }[] }
  }
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false
}

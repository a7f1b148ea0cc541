/**
 * One node of a cluster, whose exec, attach, port-forward and logs are served by kube/kubelet with real processes. (kwok's
 * own give neither exit codes nor the end of stdin.)
 */
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePorts } from '../free-port.ts'
import { binaries } from './binaries.ts'
import type { RealCluster } from './control-plane.ts'
import { startGuarded, type GuardedProcess } from './guarded-process.ts'
import { createTestClient } from './http.ts'

export interface Kubelet {
  readonly process: GuardedProcess
  /** Where commands run; the log of a container is the file CONTAINER.log in it. */
  readonly folder: string
  /** Creates a Pod with one container `app` that is Running there. */
  run(name: string, namespace?: string): Promise<void>
  stop(): Promise<void>
}

const NODE = 'streaming'

/** Stop it before its cluster. */
export async function startKubelet(cluster: RealCluster): Promise<Kubelet> {
  const { kubelet } = await binaries('kubelet')
  const [port] = await freePorts(1)
  const folder = path.join(cluster.folder, 'workloads')
  const file = (name: string): string => path.join(cluster.folder, name)
  const { certPem, keyPem } = await cluster.pki.authority.issue({ commonName: NODE, ips: ['127.0.0.1'] })
  await mkdir(folder, { recursive: true })
  await writeFile(file('kubelet.crt'), certPem)
  await writeFile(file('kubelet.key'), keyPem, { mode: 0o600 })
  const process = await startGuarded({
    command: kubelet,
    args: [`127.0.0.1:${port!}`, file('kubelet.crt'), file('kubelet.key'), folder],
    logPath: file('kubelet.log'),
  })
  await cluster.ok('/api/v1/nodes', { body: { metadata: { name: NODE } } })
  await setStatus(cluster, `/api/v1/nodes/${NODE}`, {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    conditions: [{ type: 'Ready', status: 'True' }],
  })
  await listening(port!, cluster)
  return { process, folder, run: (name, namespace) => run(cluster, name, namespace), stop: () => process.kill() }
}

async function run(cluster: RealCluster, name: string, namespace: string = 'default'): Promise<void> {
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const spec = { nodeName: NODE, containers: [{ name: 'app', image: 'registry.example/app:1' }] }
  await cluster.ok(pods, { body: { metadata: { name }, spec } })
  const now = '2026-11-30T00:00:00Z'
  await setStatus(cluster, `${pods}/${name}`, {
    phase: 'Running',
    podIP: '127.0.0.1',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: now }],
    containerStatuses: [
      {
        name: 'app',
        image: 'registry.example/app:1',
        imageID: '',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: now } },
      },
    ],
  })
}

async function setStatus(cluster: RealCluster, object: string, status: object): Promise<void> {
  await cluster.ok(`${object}/status`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/strategic-merge-patch+json' },
    body: JSON.stringify({ status }),
  })
}

/** Asked by itself: an API server's `nodes/proxy` does not go to loopback addresses. */
async function listening(port: number, { caPem, name }: RealCluster): Promise<void> {
  const client = createTestClient({ url: `https://127.0.0.1:${port}`, caPem })
  const deadline = performance.now() + 30_000
  const answers = (): Promise<boolean> =>
    client.request('/healthz').then(
      ({ status }) => status === 200,
      () => false,
    )
  while (!(await answers())) {
    if (performance.now() > deadline) throw new Error(`the kubelet of ${name} does not answer`)
    await delay(50)
  }
  await client.close()
}

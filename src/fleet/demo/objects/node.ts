/** Nodes, their leases and CSINodes. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import type { ClusterPlan, NodePool } from '../catalogue/clusters.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { rfc3339, rfc3339Micro } from '../timestamp.ts'
import type { KubeObject } from './kinds.ts'
import { isLocal } from './storage.ts'

export interface NodeDraft {
  readonly cluster: ClusterPlan
  readonly pool: NodePool
  /** Counts through all pools. */
  readonly index: number
  readonly zone: string
  readonly createdMs: number
  readonly nowMs: number
  readonly images: readonly string[]
}

export function nodeAddress(cluster: ClusterPlan, index: number): string {
  return `10.${cluster.octet}.${index % 8}.${20 + index}`
}

/** The n-th pod address of a node. */
export function podAddress(cluster: ClusterPlan, nodeIndex: number, n: number): string {
  return `10.${cluster.octet + 1 + (nodeIndex >> 6)}.${nodeIndex % 64}.${(n % 250) + 4}`
}

export function nodeName({ cluster, pool, index }: Pick<NodeDraft, 'cluster' | 'pool' | 'index'>): string {
  const address = nodeAddress(cluster, index)
  if (cluster.provider === 'aws') return `ip-${address.replaceAll('.', '-')}.${cluster.region}.compute.internal`
  const number = String(index).padStart(6, '0')
  if (cluster.provider === 'azure') return `aks-${pool.name}-31284417-vmss${number}`
  if (cluster.provider === 'gcp') return `gke-${cluster.name}-${pool.name}-7f3c9a1e-${number.slice(-4)}`
  return `edge-ber-${String(index + 1).padStart(2, '0')}`
}

export function node(draft: NodeDraft, random: SeededRandom): KubeObject {
  const { cluster, pool, index, zone, createdMs } = draft
  const name = nodeName(draft)
  const dead = cluster.deadNode === index
  const cordoned = cluster.cordonedNode === index
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      uid: random.uuid(),
      creationTimestamp: rfc3339(createdMs),
      labels: nodeLabels(draft, name, zone),
      annotations: {
        ...(isLocal(cluster)
          ? {}
          : { 'csi.volume.kubernetes.io/nodeid': JSON.stringify({ [cluster.storageClass.provisioner]: name }) }),
        'node.alpha.kubernetes.io/ttl': '0',
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      },
    },
    spec: {
      podCIDR: `${podAddress(cluster, index, 0).replace(/\.\d+$/, '.0')}/24`,
      podCIDRs: [`${podAddress(cluster, index, 0).replace(/\.\d+$/, '.0')}/24`],
      providerID: providerId(cluster, zone, name, random),
      ...taintsOf(pool, dead, cordoned, draft.nowMs),
      ...(cordoned ? { unschedulable: true } : {}),
    },
    status: {
      capacity: capacity(pool, 0, 0),
      allocatable: capacity(pool, 80, 2_200),
      conditions: nodeConditions(dead, createdMs, draft.nowMs),
      addresses: [
        { type: 'InternalIP', address: nodeAddress(cluster, index) },
        { type: 'Hostname', address: name },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: nodeInfo(cluster, random),
      images: draft.images.map((image) => ({ names: [image], sizeBytes: random.int(4_000_000, 420_000_000) })),
    },
  }
}

function nodeLabels({ cluster, pool }: NodeDraft, name: string, zone: string): Record<string, string> {
  return {
    'aurora.example/pool': pool.name,
    'beta.kubernetes.io/arch': 'amd64',
    'beta.kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'node.kubernetes.io/instance-type': pool.instanceType,
    'topology.kubernetes.io/region': cluster.region,
    'topology.kubernetes.io/zone': zone,
    ...(cluster.role === 'edge' ? { 'node-role.kubernetes.io/worker': '' } : {}),
  }
}

function providerId(cluster: ClusterPlan, zone: string, name: string, random: SeededRandom): string {
  const ids: Record<string, string> = {
    aws: `aws:///${zone}/i-0${random.hex(16)}`,
    gcp: `gce://aurora-prod/${zone}/${name}`,
    azure: `azure:///subscriptions/${random.uuid()}/resourceGroups/mc_aurora/providers/Microsoft.Compute/virtualMachineScaleSets/${name}`,
  }
  return ids[cluster.provider] ?? `metal://${cluster.region}/${name}`
}

function taintsOf(pool: NodePool, dead: boolean, cordoned: boolean, nowMs: number): JsonObject {
  const timeAdded = rfc3339(nowMs - 3 * 3_600_000)
  const taints = [
    ...(pool.taint === undefined ? [] : [pool.taint]),
    ...(dead
      ? ['NoSchedule', 'NoExecute'].map((effect) => ({ key: 'node.kubernetes.io/unreachable', effect, timeAdded }))
      : []),
    ...(cordoned ? [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule', timeAdded }] : []),
  ]
  return taints.length === 0 ? {} : { taints }
}

/** `reservedCpu` in millicores, `reservedMemory` in MiB: what the kubelet and the system keep. */
function capacity(pool: NodePool, reservedCpu: number, reservedMemory: number): JsonObject {
  const memoryKi = pool.memoryGi * 1_048_576 - 740_412 - reservedMemory * 1_024
  return {
    cpu: reservedCpu === 0 ? String(pool.cpu) : `${pool.cpu * 1_000 - reservedCpu}m`,
    'ephemeral-storage': reservedCpu === 0 ? '104845292Ki' : '95551679124',
    'hugepages-1Gi': '0',
    'hugepages-2Mi': '0',
    memory: `${memoryKi}Ki`,
    pods: String(pool.maxPods),
  }
}

export const NODE_CONDITIONS = [
  { type: 'MemoryPressure', reason: 'KubeletHasSufficientMemory', message: 'kubelet has sufficient memory available' },
  { type: 'DiskPressure', reason: 'KubeletHasNoDiskPressure', message: 'kubelet has no disk pressure' },
  { type: 'PIDPressure', reason: 'KubeletHasSufficientPID', message: 'kubelet has sufficient PID available' },
  { type: 'Ready', reason: 'KubeletReady', message: 'kubelet is posting ready status' },
] as const

/** A node that stopped reporting three hours ago has conditions nobody knows. */
function nodeConditions(dead: boolean, createdMs: number, nowMs: number): JsonObject[] {
  const lostMs = nowMs - 3 * 3_600_000
  return NODE_CONDITIONS.map(({ type, reason, message }) =>
    dead
      ? {
          type,
          status: 'Unknown',
          lastHeartbeatTime: rfc3339(lostMs - 40_000),
          lastTransitionTime: rfc3339(lostMs),
          reason: 'NodeStatusUnknown',
          message: 'Kubelet stopped posting node status.',
        }
      : {
          type,
          status: type === 'Ready' ? 'True' : 'False',
          lastHeartbeatTime: rfc3339(nowMs - 60_000),
          lastTransitionTime: rfc3339(createdMs + 45_000),
          reason,
          message,
        },
  )
}

function nodeInfo(cluster: ClusterPlan, random: SeededRandom): JsonObject {
  return {
    machineID: random.hex(32),
    systemUUID: random.uuid(),
    bootID: random.uuid(),
    kernelVersion: cluster.kernel,
    osImage: cluster.osImage,
    containerRuntimeVersion: 'containerd://2.1.5',
    kubeletVersion: cluster.kubernetesVersion,
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: 'amd64',
  }
}

export function nodeLease(owner: KubeObject, renewedMs: number): KubeObject {
  const { name, uid, creationTimestamp } = owner.metadata
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name,
      namespace: 'kube-node-lease',
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid: uid ?? '' }],
    },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: rfc3339Micro(renewedMs) },
  }
}

export function csiNode(owner: KubeObject, cluster: ClusterPlan): KubeObject {
  const { name, uid, creationTimestamp, labels } = owner.metadata
  const topologyKeys = [`topology.${cluster.storageClass.provisioner}/zone`]
  const driver = { name: cluster.storageClass.provisioner, nodeID: name, topologyKeys, allocatable: { count: 25 } }
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: {
      name,
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      annotations: { 'aurora.example/zone': labels?.['topology.kubernetes.io/zone'] ?? '' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid: uid ?? '' }],
    },
    spec: { drivers: isLocal(cluster) ? null : [driver] },
  }
}

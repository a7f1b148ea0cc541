/** The clusters of the simulated company, as data. */
import type { ClusterRole } from './app.ts'

export interface NodePool {
  readonly name: string
  readonly count: number
  readonly instanceType: string
  readonly cpu: number
  readonly memoryGi: number
  readonly maxPods: number
  readonly taint?: { readonly key: string; readonly value: string; readonly effect: string }
}

export interface ClusterPlan {
  readonly name: string
  readonly role: ClusterRole
  readonly provider: string
  readonly region: string
  readonly zones: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  readonly kubernetesVersion: string
  /** Multiplies the replicas of applications that grow. */
  readonly size: number
  readonly pools: readonly NodePool[]
  readonly storageClass: { readonly name: string; readonly provisioner: string }
  readonly osImage: string
  readonly kernel: string
  /** The second octet of node and pod addresses, so that no two clusters share one. */
  readonly octet: number
  readonly domain: string
  /** Index of a node that does not answer, and of one that is cordoned. */
  readonly deadNode?: number
  readonly cordonedNode?: number
}

const LABELS = (environment: string, tier: string): Readonly<Record<string, string>> => ({
  'fleet.aurora.example/managed': 'true',
  environment,
  tier,
})

export const CLUSTERS: readonly ClusterPlan[] = [
  {
    name: 'prod-eu-west',
    role: 'production',
    provider: 'aws',
    region: 'eu-west-1',
    zones: ['eu-west-1a', 'eu-west-1b', 'eu-west-1c'],
    labels: LABELS('production', 'primary'),
    kubernetesVersion: 'v1.36.3',
    size: 1.25,
    pools: [
      { name: 'general', count: 12, instanceType: 'm7i.2xlarge', cpu: 8, memoryGi: 32, maxPods: 58 },
      { name: 'data', count: 4, instanceType: 'r7i.2xlarge', cpu: 8, memoryGi: 64, maxPods: 58 },
    ],
    storageClass: { name: 'gp3', provisioner: 'ebs.csi.aws.com' },
    osImage: 'Bottlerocket OS 1.48.0 (aws-k8s-1.36)',
    kernel: '6.12.46',
    octet: 40,
    domain: 'eu.aurora.example',
    cordonedNode: 3,
  },
  {
    name: 'prod-us-east',
    role: 'production',
    provider: 'gcp',
    region: 'us-east4',
    zones: ['us-east4-a', 'us-east4-b', 'us-east4-c'],
    labels: LABELS('production', 'primary'),
    kubernetesVersion: 'v1.36.2',
    size: 1,
    pools: [
      { name: 'general', count: 10, instanceType: 'n2-standard-8', cpu: 8, memoryGi: 32, maxPods: 110 },
      { name: 'data', count: 3, instanceType: 'n2-highmem-8', cpu: 8, memoryGi: 64, maxPods: 110 },
    ],
    storageClass: { name: 'premium-rwo', provisioner: 'pd.csi.storage.gke.io' },
    osImage: 'Container-Optimized OS from Google',
    kernel: '6.12.46+',
    octet: 72,
    domain: 'us.aurora.example',
  },
  {
    name: 'staging-eu',
    role: 'staging',
    provider: 'azure',
    region: 'westeurope',
    zones: ['westeurope-1', 'westeurope-2'],
    labels: LABELS('staging', 'secondary'),
    kubernetesVersion: 'v1.36.3',
    size: 0.5,
    pools: [
      { name: 'general', count: 7, instanceType: 'Standard_D8s_v5', cpu: 8, memoryGi: 32, maxPods: 110 },
      { name: 'data', count: 2, instanceType: 'Standard_E8s_v5', cpu: 8, memoryGi: 64, maxPods: 110 },
    ],
    storageClass: { name: 'managed-csi-premium', provisioner: 'disk.csi.azure.com' },
    osImage: 'Ubuntu 24.04.3 LTS',
    kernel: '6.8.0-1044-azure',
    octet: 104,
    domain: 'staging.aurora.example',
  },
  {
    name: 'edge-berlin',
    role: 'edge',
    provider: 'bare-metal',
    region: 'berlin',
    zones: ['hall-2'],
    labels: LABELS('production', 'edge'),
    kubernetesVersion: 'v1.35.6',
    size: 0.5,
    pools: [{ name: 'general', count: 5, instanceType: 'poweredge-r6615', cpu: 32, memoryGi: 128, maxPods: 110 }],
    storageClass: { name: 'local-path', provisioner: 'rancher.io/local-path' },
    osImage: 'Debian GNU/Linux 13 (trixie)',
    kernel: '6.12.57+deb13-amd64',
    octet: 136,
    domain: 'edge.aurora.example',
    deadNode: 4,
  },
]

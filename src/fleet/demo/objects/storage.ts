/** Storage classes, claims, volumes and their attachments. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import type { App } from '../catalogue/app.ts'
import type { ClusterPlan } from '../catalogue/clusters.ts'
import { digestOf, type SeededRandom } from '../seeded-random.ts'
import { rfc3339 } from '../timestamp.ts'
import type { KubeObject } from './kinds.ts'
import { appLabels } from './template.ts'

export function storageClass(cluster: ClusterPlan, createdMs: number): KubeObject {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: {
      name: cluster.storageClass.name,
      creationTimestamp: rfc3339(createdMs),
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
    },
    provisioner: cluster.storageClass.provisioner,
    reclaimPolicy: 'Delete',
    allowVolumeExpansion: cluster.role !== 'edge',
    volumeBindingMode: 'WaitForFirstConsumer',
  }
}

export function csiDriver(cluster: ClusterPlan, createdMs: number): KubeObject {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: cluster.storageClass.provisioner, creationTimestamp: rfc3339(createdMs) },
    spec: {
      attachRequired: true,
      podInfoOnMount: false,
      volumeLifecycleModes: ['Persistent'],
      storageCapacity: false,
      fsGroupPolicy: 'File',
      requiresRepublish: false,
      seLinuxMount: false,
    },
  }
}

export interface BoundVolume {
  readonly claim: KubeObject
  readonly volume: KubeObject
  /** None for a volume that is a folder of its node. */
  readonly attachment: KubeObject | undefined
}

/** A claim, the volume provisioned for it, and its attachment to `nodeName`. */
export function boundVolume(
  app: App,
  claimName: string,
  cluster: ClusterPlan,
  nodeName: string,
  createdMs: number,
  random: SeededRandom,
): BoundVolume {
  const uid = random.uuid()
  const volumeName = `pvc-${uid}`
  const size = app.volume ?? '10Gi'
  const { name: storageClassName, provisioner } = cluster.storageClass
  const creationTimestamp = rfc3339(createdMs)
  const modes = { accessModes: ['ReadWriteOnce'] }
  const claim: KubeObject = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: claimName,
      namespace: app.namespace,
      uid,
      creationTimestamp,
      labels: appLabels(app),
      annotations: {
        'pv.kubernetes.io/bind-completed': 'yes',
        'pv.kubernetes.io/bound-by-controller': 'yes',
        'volume.kubernetes.io/selected-node': nodeName,
        'volume.kubernetes.io/storage-provisioner': provisioner,
      },
      finalizers: ['kubernetes.io/pvc-protection'],
    },
    spec: {
      ...modes,
      resources: { requests: { storage: size } },
      volumeName,
      storageClassName,
      volumeMode: 'Filesystem',
    },
    status: { phase: 'Bound', ...modes, capacity: { storage: size } },
  }
  const claimRef = { kind: 'PersistentVolumeClaim', namespace: app.namespace, name: claimName, uid, apiVersion: 'v1' }
  const local = isLocal(cluster)
  const finalizers = ['kubernetes.io/pv-protection', `external-attacher/${provisioner.replaceAll('.', '-')}`]
  const volume: KubeObject = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: volumeName,
      creationTimestamp,
      annotations: { 'pv.kubernetes.io/provisioned-by': provisioner },
      finalizers: local ? finalizers.slice(0, 1) : finalizers,
    },
    spec: {
      capacity: { storage: size },
      ...(local
        ? { local: { path: `/opt/local-path-provisioner/${volumeName}_${app.namespace}_${claimName}` } }
        : { csi: { driver: provisioner, volumeHandle: `vol-0${random.hex(16)}`, fsType: 'ext4' } }),
      ...modes,
      claimRef,
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName,
      volumeMode: 'Filesystem',
      ...(local ? { nodeAffinity: { required: { nodeSelectorTerms: [onNode(nodeName)] } } } : {}),
    },
    status: { phase: 'Bound', lastPhaseTransitionTime: creationTimestamp },
  }
  const attachment: KubeObject = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: `csi-${digestOf(volumeName + nodeName)}`, creationTimestamp },
    spec: { attacher: provisioner, nodeName, source: { persistentVolumeName: volumeName } },
    status: { attached: true },
  }
  return { claim, volume, attachment: local ? undefined : attachment }
}

/** Whether volumes are folders of a node: then nothing attaches them, and no CSI driver is there. */
export function isLocal({ storageClass: { provisioner } }: ClusterPlan): boolean {
  return provisioner === 'rancher.io/local-path'
}

function onNode(name: string): JsonObject {
  return { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [name] }] }
}

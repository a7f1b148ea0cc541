/**
 * The columns of each kind: what a Table shows, and what queries filter, sort and count by. Equal to those of a
 * kube-apiserver 1.36 for every kind that it serves (descriptions apart); test/e2e/table.e2e.test.ts compares the cells.
 */
import { apiService, mutatingPolicy, policyBinding, validatingPolicy, webhookConfiguration } from './admission.ts'
import { horizontalPodAutoscaler } from './autoscaling.ts'
import { cronJob, job } from './batch.ts'
import { certificateSigningRequest, clusterTrustBundle, podCertificateRequest } from './certificates.ts'
import type { KindColumns } from './column.ts'
import { componentStatus, configMap, lease, leaseCandidate, nameAndAge, nameAndCreation } from './core.ts'
import { namespace, resourceQuota, secret } from './core.ts'
import { deviceTaintRule, podGroup, resourceClaim, resourcePoolStatusRequest, resourceSlice } from './devices.ts'
import { storageVersion, storageVersionMigration } from './devices.ts'
import { event } from './event.ts'
import { endpoints, endpointSlice, ingress, ingressClass, ipAddress } from './network.ts'
import { networkPolicy, service, serviceCidr } from './network.ts'
import { node, runtimeClass } from './node.ts'
import { pod, podTemplate } from './pod.ts'
import { flowSchema, podDisruptionBudget, priorityClass, priorityLevel, roleBinding } from './policy.ts'
import { csiDriver, csiNode, persistentVolume, persistentVolumeClaim, storageClass } from './storage.ts'
import { volumeAttachment, volumeAttributesClass } from './storage.ts'
import { controllerRevision, daemonSet, deployment, replicaSet } from './workloads.ts'
import { replicationController, statefulSet } from './workloads.ts'

export type {
  Cell,
  Column,
  ColumnType,
  ColumnValue,
  ExtraField,
  JsonObject,
  KindColumns,
  RowCondition,
} from './column.ts'
export { columnsOfDefinition, customColumns, defaultColumns, type PrinterColumn } from './custom.ts'

/** Group, then kind. */
const KINDS: Readonly<Record<string, Readonly<Record<string, KindColumns>>>> = {
  '': {
    ComponentStatus: componentStatus,
    ConfigMap: configMap,
    Endpoints: endpoints,
    Event: event,
    LimitRange: nameAndCreation,
    Namespace: namespace,
    Node: node,
    PersistentVolume: persistentVolume,
    PersistentVolumeClaim: persistentVolumeClaim,
    Pod: pod,
    PodTemplate: podTemplate,
    ReplicationController: replicationController,
    ResourceQuota: resourceQuota,
    Secret: secret,
    Service: service,
    ServiceAccount: nameAndAge,
  },
  'admissionregistration.k8s.io': {
    MutatingAdmissionPolicy: mutatingPolicy,
    MutatingAdmissionPolicyBinding: policyBinding,
    MutatingWebhookConfiguration: webhookConfiguration,
    ValidatingAdmissionPolicy: validatingPolicy,
    ValidatingAdmissionPolicyBinding: policyBinding,
    ValidatingWebhookConfiguration: webhookConfiguration,
  },
  'apiextensions.k8s.io': { CustomResourceDefinition: nameAndCreation },
  'apiregistration.k8s.io': { APIService: apiService },
  apps: {
    ControllerRevision: controllerRevision,
    DaemonSet: daemonSet,
    Deployment: deployment,
    ReplicaSet: replicaSet,
    StatefulSet: statefulSet,
  },
  autoscaling: { HorizontalPodAutoscaler: horizontalPodAutoscaler },
  batch: { CronJob: cronJob, Job: job },
  'certificates.k8s.io': {
    CertificateSigningRequest: certificateSigningRequest,
    ClusterTrustBundle: clusterTrustBundle,
    PodCertificateRequest: podCertificateRequest,
  },
  'coordination.k8s.io': { Lease: lease, LeaseCandidate: leaseCandidate },
  'discovery.k8s.io': { EndpointSlice: endpointSlice },
  'events.k8s.io': { Event: event },
  'flowcontrol.apiserver.k8s.io': { FlowSchema: flowSchema, PriorityLevelConfiguration: priorityLevel },
  'internal.apiserver.k8s.io': { StorageVersion: storageVersion },
  'networking.k8s.io': {
    Ingress: ingress,
    IngressClass: ingressClass,
    IPAddress: ipAddress,
    NetworkPolicy: networkPolicy,
    ServiceCIDR: serviceCidr,
  },
  'node.k8s.io': { RuntimeClass: runtimeClass },
  policy: { PodDisruptionBudget: podDisruptionBudget },
  'rbac.authorization.k8s.io': {
    ClusterRole: nameAndCreation,
    ClusterRoleBinding: roleBinding,
    Role: nameAndCreation,
    RoleBinding: roleBinding,
  },
  'resource.k8s.io': {
    DeviceClass: nameAndAge,
    DeviceTaintRule: deviceTaintRule,
    ResourceClaim: resourceClaim,
    ResourceClaimTemplate: nameAndAge,
    ResourcePoolStatusRequest: resourcePoolStatusRequest,
    ResourceSlice: resourceSlice,
  },
  'scheduling.k8s.io': { PodGroup: podGroup, PriorityClass: priorityClass, Workload: nameAndAge },
  'storage.k8s.io': {
    CSIDriver: csiDriver,
    CSINode: csiNode,
    CSIStorageCapacity: nameAndCreation,
    StorageClass: storageClass,
    VolumeAttachment: volumeAttachment,
    VolumeAttributesClass: volumeAttributesClass,
  },
  'storagemigration.k8s.io': { StorageVersionMigration: storageVersionMigration },
}

/** The columns of a built-in kind, whatever the version; undefined for all others (see `customColumns`). */
export function columnsOf(gk: { readonly group: string; readonly kind: string }): KindColumns | undefined {
  const kinds = Object.hasOwn(KINDS, gk.group) ? KINDS[gk.group] : undefined
  return kinds !== undefined && Object.hasOwn(kinds, gk.kind) ? kinds[gk.kind] : undefined
}

/** Every built-in kind that has columns, for generated documents and tests. */
export function columnKinds(): readonly {
  readonly group: string
  readonly kind: string
  readonly columns: KindColumns
}[] {
  return Object.entries(KINDS).flatMap(([group, kinds]) =>
    Object.entries(kinds).map(([kind, columns]) => ({ group, kind, columns })),
  )
}

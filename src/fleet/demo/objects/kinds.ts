/** The parts of Kubernetes objects that the simulation reads; everything else rides along untouched. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import type { NewObject } from '../stored-object.ts'

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface Meta extends JsonObject {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
}

export interface KubeObject extends NewObject {
  readonly metadata: Meta
}

export interface Resources {
  readonly limits?: Readonly<Record<string, string>>
  readonly requests?: Readonly<Record<string, string>>
}

export interface Container extends JsonObject {
  readonly name: string
  readonly image: string
  readonly resources: Resources
  readonly restartPolicy?: string
  readonly readinessProbe?: JsonObject
  readonly volumeMounts?: readonly JsonObject[]
}

export interface PodSpec extends JsonObject {
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly nodeName?: string
  readonly serviceAccountName: string
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly volumes?: readonly JsonObject[]
}

export interface PodTemplate extends JsonObject {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: PodSpec
}

export interface Condition extends JsonObject {
  readonly type: string
  readonly status: string
  readonly lastTransitionTime: string
}

export interface ContainerStatus extends JsonObject {
  readonly name: string
  readonly ready: boolean
  readonly restartCount: number
  readonly state: Readonly<Record<string, JsonObject>>
  readonly lastState: Readonly<Record<string, JsonObject>>
}

export interface PodStatus extends JsonObject {
  readonly phase: string
  readonly conditions?: readonly Condition[]
  readonly podIP?: string
  readonly hostIP?: string
  readonly reason?: string
  readonly containerStatuses?: readonly ContainerStatus[]
}

export interface Pod extends KubeObject {
  readonly spec: PodSpec
  readonly status: PodStatus
}

export interface WorkloadSpec extends JsonObject {
  readonly replicas: number
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
  readonly template: PodTemplate
}

/** Deployment, ReplicaSet, StatefulSet. */
export interface Workload extends KubeObject {
  readonly spec: WorkloadSpec
  readonly status: JsonObject & { readonly conditions?: readonly Condition[] }
}

export function isReady(pod: Pod): boolean {
  return pod.status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false
}

/** Not finished and not on its way out: what a controller counts as one of its replicas. */
export function isActive(pod: Pod): boolean {
  const { phase } = pod.status
  return phase !== 'Succeeded' && phase !== 'Failed' && pod.metadata.deletionTimestamp === undefined
}

export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true)
}

export function ownerReference(owner: KubeObject): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  }
}

/** Replaces the condition of that type; its time moves only when its status does. */
export function withCondition(conditions: readonly Condition[], condition: Condition): readonly Condition[] {
  const previous = conditions.find(({ type }) => type === condition.type)
  if (previous === undefined) return [...conditions, condition]
  const kept = previous.status === condition.status ? previous.lastTransitionTime : condition.lastTransitionTime
  const next = { ...condition, lastTransitionTime: kept }
  return conditions.map((other) => (other === previous ? next : other))
}

/** StatefulSet and DaemonSet controllers, and that of endpoints. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import { isActive, isReady, type KubeObject, type Pod, type PodTemplate, type Workload } from '../objects/kinds.ts'
import { endpoints, endpointSlice, type Service } from '../objects/network.ts'
import type { StoredObject } from '../stored-object.ts'
import type { Context } from './context.ts'
import type { PodActions } from './replicas.ts'

/** Pods are made in order, each when the one before is ready. */
export function syncStatefulSet(context: Context, set: Workload, actions: PodActions): void {
  const pods = context.podsOf(set)
  const byName = new Map(pods.map((pod) => [pod.metadata.name, pod]))
  for (let ordinal = 0; ordinal < set.spec.replicas; ordinal++) {
    const name = `${set.metadata.name}-${ordinal}`
    const pod = byName.get(name)
    if (pod === undefined) actions.create(set, set.spec.template, { name })
    if (pod === undefined || !isReady(pod)) break
  }
  const ready = pods.filter((pod) => isActive(pod) && isReady(pod)).length
  const counts = {
    replicas: pods.length,
    readyReplicas: ready,
    currentReplicas: pods.length,
    updatedReplicas: pods.length,
  }
  const { observedGeneration, currentRevision, updateRevision, collisionCount } = set.status
  const status: JsonObject = {
    observedGeneration,
    ...counts,
    currentRevision,
    updateRevision,
    collisionCount,
    availableReplicas: ready,
  }
  context.put({ ...set, status })
}

export interface DaemonSet extends KubeObject {
  readonly spec: JsonObject & { readonly template: PodTemplate }
  readonly status: JsonObject
}

/** One pod on every node, whatever its state. */
export function syncDaemonSet(context: Context, set: DaemonSet, actions: PodActions): void {
  const pods = context.podsOf(set)
  const covered = new Set(pods.filter(isActive).map((pod) => pod.spec.nodeName))
  const { nodes } = context.scheduler
  for (const { name, dead } of nodes) {
    if (!covered.has(name) && !dead) actions.create(set as unknown as Workload, set.spec.template, { node: name })
  }
  const ready = pods.filter((pod) => isActive(pod) && isReady(pod)).length
  const status: JsonObject = {
    currentNumberScheduled: covered.size,
    numberMisscheduled: 0,
    desiredNumberScheduled: nodes.length,
    numberReady: ready,
    observedGeneration: set.status['observedGeneration'],
    updatedNumberScheduled: covered.size,
    ...(ready === 0 ? {} : { numberAvailable: ready }),
    ...(ready === nodes.length ? {} : { numberUnavailable: nodes.length - ready }),
  }
  context.put({ ...set, status })
}

/** Whether a Service's selector picks a pod. */
export function selects(service: Service, pod: StoredObject): boolean {
  const { selector } = service.spec
  if (selector === undefined || service.metadata.namespace !== pod.namespace) return false
  return Object.entries(selector).every(([key, value]) => pod.metadata.labels?.[key] === value)
}

export function syncService(context: Context, service: Service): void {
  if (service.spec.selector === undefined) return
  const pods = context.pods((pod) => selects(service, pod)).filter((pod) => !isFinished(pod))
  const namespace = service.metadata.namespace ?? ''
  const [previous] = context.list(
    'discovery.k8s.io/v1',
    'EndpointSlice',
    (slice) =>
      slice.namespace === namespace && slice.metadata.labels?.['kubernetes.io/service-name'] === service.metadata.name,
  )
  const zoneOf = (node: string): string => context.scheduler.zoneOf(node)
  context.put(endpointSlice(service, pods, zoneOf, previous, context.random))
  context.put(endpoints(service, pods))
}

function isFinished(pod: Pod): boolean {
  return pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed'
}

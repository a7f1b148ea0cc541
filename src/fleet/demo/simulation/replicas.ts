/** ReplicaSet and Deployment controllers: level-triggered, as in kube-controller-manager, reduced to what shows. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import { isActive, isReady, withCondition, type Condition, type Pod, type Workload } from '../objects/kinds.ts'
import { replicaSet, REVISION_ANNOTATION, templateHash } from '../objects/workload.ts'
import { rfc3339 } from '../timestamp.ts'
import type { Context } from './context.ts'

/** Where pods are made and stopped: the kubelet's side. */
export interface PodActions {
  create(owner: Workload, template: Workload['spec']['template'], naming: { name?: string; node?: string }): void
  stop(pod: Pod): void
}

/** Makes the number of pods right and writes down what there is. */
export function syncReplicaSet(context: Context, set: Workload, actions: PodActions): void {
  const pods = context.podsOf(set)
  const active = pods.filter(isActive)
  const missing = set.spec.replicas - active.length
  for (let i = 0; i < missing; i++) actions.create(set, set.spec.template, {})
  if (missing < 0) for (const pod of mostDispensable(active).slice(0, -missing)) actions.stop(pod)
  const ready = active.filter(isReady).length
  const status: JsonObject = {
    replicas: active.length,
    ...(active.length === 0 ? {} : { fullyLabeledReplicas: active.length }),
    ...(ready === 0 ? {} : { readyReplicas: ready, availableReplicas: ready }),
    terminatingReplicas: pods.filter((pod) => pod.metadata.deletionTimestamp !== undefined).length,
    observedGeneration: generationOf(context, set),
  }
  const current = context.get<Workload>('apps/v1', 'ReplicaSet', set.metadata.namespace ?? '', set.metadata.name)
  if (current !== undefined) context.put({ ...current, status })
}

/** Unready ones first, then the youngest. */
function mostDispensable(pods: readonly Pod[]): Pod[] {
  const created = (pod: Pod): string => pod.metadata.creationTimestamp ?? ''
  return pods.toSorted((a, b) => Number(isReady(a)) - Number(isReady(b)) || created(b).localeCompare(created(a)))
}

export function syncDeployment(context: Context, deployment: Workload): void {
  const sets = context.replicaSetsOf(deployment)
  const hash = templateHash(deployment.spec.template)
  const known = sets.find((set) => set.metadata.labels?.['pod-template-hash'] === hash)
  if (known === undefined) {
    startRevision(context, deployment, sets)
    return
  }
  scale(context, deployment, known, sets)
  writeStatus(context, deployment, known, context.replicaSetsOf(deployment))
}

function startRevision(context: Context, deployment: Workload, sets: readonly Workload[]): void {
  const revision = 1 + Math.max(0, ...sets.map((set) => Number(set.metadata.annotations?.[REVISION_ANNOTATION] ?? 0)))
  const annotations = { ...deployment.metadata.annotations, [REVISION_ANNOTATION]: String(revision) }
  const current = { ...deployment, metadata: { ...deployment.metadata, annotations } }
  context.put(current)
  context.put(replicaSet(current, deployment.spec.template, 0, context.nowMs(), revision))
  const idle = sets.filter((set) => set.spec.replicas === 0)
  const byAge = idle.toSorted((a, b) =>
    String(a.metadata.creationTimestamp).localeCompare(String(b.metadata.creationTimestamp)),
  )
  for (const set of byAge.slice(0, Math.max(0, idle.length - 10))) context.remove(set)
}

/** One step of a rolling update: no more than a quarter above the wanted number, no more than a quarter missing. */
function scale(context: Context, deployment: Workload, current: Workload, sets: readonly Workload[]): void {
  const { replicas } = deployment.spec
  const old = sets.filter((set) => set !== current && set.spec.replicas > 0)
  if (old.length === 0) {
    resize(context, deployment, current, replicas)
    return
  }
  const total = sets.reduce((sum, set) => sum + set.spec.replicas, 0)
  const room = Math.min(replicas - current.spec.replicas, replicas + Math.ceil(replicas / 4) - total)
  if (room > 0) resize(context, deployment, current, current.spec.replicas + room)
  const available = (set: Workload): number => Number(set.status['availableReplicas'] ?? 0)
  const waiting = current.spec.replicas - available(current)
  let spare = total - (replicas - Math.floor(replicas / 4)) - waiting
  for (const set of old) {
    const fewer = Math.min(Math.max(0, spare), set.spec.replicas)
    if (fewer > 0) resize(context, deployment, set, set.spec.replicas - fewer)
    spare -= fewer
  }
}

function resize(context: Context, deployment: Workload, set: Workload, replicas: number): void {
  if (set.spec.replicas === replicas) return
  const verb = replicas > set.spec.replicas ? 'up' : 'down'
  context.put({ ...set, spec: { ...set.spec, replicas } })
  context.event({
    about: deployment,
    type: 'Normal',
    reason: 'ScalingReplicaSet',
    message: `Scaled ${verb} replica set ${set.metadata.name} from ${set.spec.replicas} to ${replicas}`,
    component: 'deployment-controller',
  })
}

function writeStatus(context: Context, deployment: Workload, current: Workload, sets: readonly Workload[]): void {
  const sum = (field: string): number => sets.reduce((total, set) => total + Number(set.status[field] ?? 0), 0)
  const fresh = sets.find((set) => set.metadata.name === current.metadata.name)
  const updated = Number(fresh?.status['replicas'] ?? 0)
  const available = sum('availableReplicas')
  const { replicas } = deployment.spec
  const unavailable = Math.max(0, replicas - available)
  const latest = context.get<Workload>(
    'apps/v1',
    'Deployment',
    deployment.metadata.namespace ?? '',
    deployment.metadata.name,
  )
  if (latest === undefined) return
  context.put({
    ...latest,
    status: {
      observedGeneration: generationOf(context, latest),
      ...nonZero('replicas', sum('replicas')),
      ...nonZero('updatedReplicas', updated),
      ...nonZero('readyReplicas', sum('readyReplicas')),
      ...nonZero('availableReplicas', available),
      ...nonZero('unavailableReplicas', unavailable),
      terminatingReplicas: sum('terminatingReplicas'),
      conditions: conditionsOf(context, latest, current.metadata.name, {
        enough: unavailable <= Math.floor(replicas / 4),
        complete: updated === replicas && available === replicas && sum('replicas') === replicas,
      }),
    },
  })
}

function generationOf(context: Context, { apiVersion, kind, metadata }: Workload): unknown {
  const type = context.store.typeOfKind(apiVersion, kind)
  return type === undefined ? 1 : context.store.get(type, metadata.namespace, metadata.name)?.metadata['generation']
}

function nonZero(field: string, value: number): JsonObject {
  return value === 0 ? {} : { [field]: value }
}

function conditionsOf(
  context: Context,
  deployment: Workload,
  setName: string,
  { enough, complete }: { enough: boolean; complete: boolean },
): readonly Condition[] {
  const time = rfc3339(context.nowMs())
  const previous = deployment.status.conditions ?? []
  const before = previous.find((condition) => condition.type === 'Progressing')
  const settled =
    complete || (before?.['reason'] === 'NewReplicaSetAvailable' && String(before['message']).includes(setName))
  const reason = settled ? 'NewReplicaSetAvailable' : 'ReplicaSetUpdated'
  const lastUpdateTime = before?.['reason'] === reason ? before['lastUpdateTime'] : time
  const verb = settled ? 'has successfully progressed' : 'is progressing'
  const available: Condition = {
    type: 'Available',
    status: enough ? 'True' : 'False',
    lastUpdateTime: conditionTime(previous, 'Available', enough) ?? time,
    lastTransitionTime: time,
    reason: enough ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: `Deployment ${enough ? 'has' : 'does not have'} minimum availability.`,
  }
  // Ten minutes without a step forward: `progressDeadlineSeconds`.
  const late = !settled && context.nowMs() - Date.parse(String(lastUpdateTime)) > 600_000
  const stuck = late || (!settled && before?.['reason'] === 'ProgressDeadlineExceeded')
  const progressing: Condition = {
    type: 'Progressing',
    status: stuck ? 'False' : 'True',
    lastUpdateTime,
    lastTransitionTime: time,
    reason: stuck ? 'ProgressDeadlineExceeded' : reason,
    message: `ReplicaSet "${setName}" ${stuck ? 'has timed out progressing' : verb}.`,
  }
  return withCondition(withCondition(previous, available), progressing)
}

function conditionTime(conditions: readonly Condition[], type: string, status: boolean): unknown {
  const previous = conditions.find((condition) => condition.type === type)
  return previous?.status === (status ? 'True' : 'False') ? previous['lastUpdateTime'] : undefined
}

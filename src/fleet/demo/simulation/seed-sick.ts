/** Pods that do not fare well, and the events that tell of them. */
import type { App, Sickness } from '../catalogue/app.ts'
import { PRIORITIES } from '../objects/config.ts'
import { makeEvent, type EventDraft } from '../objects/event.ts'
import type { ContainerStatus, KubeObject, Pod, Workload } from '../objects/kinds.ts'
import { makePod } from '../objects/pod.ts'
import type { PodPlace, PodState } from '../objects/pod-status.ts'
import type { Context } from './context.ts'
import { backOffEvent, unschedulableMessage } from './kubelet.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The state of a pod that takes one of its owner's places. */
export function sickState(
  context: Context,
  app: App,
  sickness: Sickness | undefined,
  createdMs: number,
  place: PodPlace | undefined,
  image: string,
): PodState {
  const { random } = context
  const nowMs = context.nowMs()
  const running = { kind: 'running', startedMs: createdMs + 4_000, ready: true } as const
  if (place === undefined) return { kind: 'unschedulable', message: unschedulableMessage(context) }
  const recentMs = nowMs - random.int(2, 50) * MINUTE_MS
  const backoff = `back-off 5m0s restarting failed container=${app.name}`
  const dead = context.scheduler.nodes.some(({ name, dead: gone }) => gone && name === place.nodeName)
  if (dead) return running
  const illness = sickness?.kind
  switch (illness) {
    case undefined:
    case 'unschedulable':
    case 'evicted':
    case 'stuckTerminating':
      return maybeRestarted(context, running)
    case 'restarted': {
      const last = { ...random.pick(EXITS), endedMs: nowMs - random.int(20, 3_000) * MINUTE_MS }
      return { ...running, startedMs: last.endedMs + 1_000, restarts: random.int(1, 6), last }
    }
    case 'oomKilled': {
      const last = { exitCode: 137, reason: 'OOMKilled', endedMs: recentMs }
      return { ...running, startedMs: recentMs + 1_000, restarts: random.int(5, 23), last }
    }
    case 'notReady':
      return { ...running, ready: false }
    case 'crashLoop':
      return {
        kind: 'crashLoop',
        restarts: random.int(18, 260),
        last: { exitCode: 1, reason: 'Error', endedMs: nowMs - random.int(20, 200) * 1_000 },
        backoff,
      }
    case 'initCrashLoop':
      return {
        kind: 'initCrashLoop',
        restarts: random.int(6, 40),
        last: { exitCode: 2, reason: 'Error', endedMs: nowMs - random.int(20, 200) * 1_000 },
        backoff: `back-off 5m0s restarting failed container=${app.init?.name ?? 'init'}`,
      }
    case 'imagePull':
      return {
        kind: 'imagePull',
        message: `Back-off pulling image "${image}": ErrImagePull: not found`,
        inInit: app.init !== undefined,
      }
    case 'configError':
      return {
        kind: 'creating',
        waiting: { reason: 'CreateContainerConfigError', message: `secret "${app.name}-credentials" not found` },
      }
    default:
      return illness satisfies never
  }
}

const EXITS = [
  { exitCode: 137, reason: 'Error' },
  { exitCode: 1, reason: 'Error' },
  { exitCode: 0, reason: 'Completed' },
  { exitCode: 139, reason: 'Error' },
] as const

/** One pod in twelve has been restarted some time. */
function maybeRestarted(context: Context, running: Extract<PodState, { kind: 'running' }>): PodState {
  const { random } = context
  if (!random.chance(1 / 12)) return running
  const aliveMs = context.nowMs() - running.startedMs
  const last = { ...random.pick(EXITS), endedMs: running.startedMs + Math.floor(aliveMs * random.next()) }
  return { ...running, startedMs: last.endedMs + 1_000, restarts: random.int(1, 2), last }
}

/** Adds a pod that its owner does not count any more: evicted, or stuck on its way out. */
export function seedLostPod(context: Context, app: App, owner: Workload, sickness: Sickness): void {
  const { random, scheduler } = context
  const nowMs = context.nowMs()
  const node = sickness.kind === 'stuckTerminating' ? scheduler.nodes.find(({ dead }) => dead)?.name : undefined
  const generateName = `${owner.metadata.name}-`
  const name = `${generateName}${random.suffix()}`
  const place = scheduler.place(name, owner.spec.template.spec, node)
  const deletedMs = nowMs - 3 * HOUR_MS + 5 * MINUTE_MS
  const state: PodState =
    sickness.kind === 'evicted'
      ? {
          kind: 'evicted',
          message: `Threshold quantity: 9555167912, available: 8120Ki. Container ${app.name} was using 41Gi, request is 0, has larger consumption of ephemeral-storage.`,
        }
      : { kind: 'terminating', startedMs: nowMs - 30 * HOUR_MS, deletedMs }
  const createdMs = nowMs - random.int(30, 40) * HOUR_MS
  const { template } = owner.spec
  const priority = PRIORITIES[app.priority ?? ''] ?? 0
  const names = { name, generateName, namespace: app.namespace }
  const pod = makePod({ ...names, owner, template, createdMs, place, state, priority }, random)
  if (place !== undefined) scheduler.rename(name, pod.metadata.uid ?? '', place.nodeName)
  context.put(sickness.kind === 'stuckTerminating' ? onLostNode(pod) : pod)
}

/** The node controller says that a pod is not ready any more; what its kubelet last said stands as it was. */
export function onLostNode(pod: Pod): Pod {
  const conditions = (pod.status.conditions ?? []).map((condition) =>
    condition.type === 'Ready' ? { ...condition, status: 'False', reason: 'NodeNotReady' } : condition,
  )
  return { ...pod, status: { ...pod.status, conditions } }
}

/** The events of the last hour that a pod's state explains. */
export function seedEvents(context: Context): void {
  for (const pod of context.pods()) for (const draft of draftsOf(context, pod)) seedEvent(context, pod, draft)
  for (const node of context.scheduler.nodes.filter(({ dead }) => dead)) {
    const about = context.get<KubeObject>('v1', 'Node', '', node.name)
    if (about === undefined) continue
    seedEvent(context, about, {
      type: 'Normal',
      reason: 'NodeNotReady',
      message: `Node ${node.name} status is now: NodeNotReady`,
      component: 'node-controller',
      count: 1,
    })
  }
}

type Draft = Pick<EventDraft, 'type' | 'reason' | 'message' | 'component' | 'count' | 'fieldPath'>

function seedEvent(context: Context, about: KubeObject, draft: Draft): void {
  const { random } = context
  const nowMs = context.nowMs()
  const lastMs = nowMs - random.int(10_000, 40 * MINUTE_MS)
  const createdMs = Date.parse(about.metadata.creationTimestamp ?? '')
  // Repeated every few minutes, but not since before there was anything to tell of.
  const firstMs = draft.count > 1 ? Math.max(createdMs + 20_000, lastMs - draft.count * 5 * MINUTE_MS) : lastMs
  const host = (about['spec'] as { nodeName?: string } | undefined)?.nodeName
  context.put(
    makeEvent(
      { about, firstMs, lastMs, ...(host === undefined || draft.component !== 'kubelet' ? {} : { host }), ...draft },
      random,
    ),
  )
}

function draftsOf(context: Context, pod: Pod): Draft[] {
  const { random } = context
  if (pod.status.reason === 'Evicted') return [{ ...kubelet('Evicted', String(pod.status['message'])), count: 1 }]
  if (pod.spec.nodeName === undefined) {
    const message = unschedulableMessage(context)
    return [
      {
        type: 'Warning',
        reason: 'FailedScheduling',
        message,
        component: 'default-scheduler',
        count: random.int(20, 300),
      },
    ]
  }
  const held = heldContainer(pod)
  if (held !== undefined) return draftsOfHeld(pod, held)
  const main = pod.status.containerStatuses?.[0]
  const fieldPath = `spec.containers{${main?.name ?? ''}}`
  if (main?.lastState['terminated']?.['reason'] === 'OOMKilled') {
    return [{ ...kubelet('BackOff', backOffEvent(pod, main.name)), fieldPath, count: random.int(3, 20) }]
  }
  if (main?.ready === false && main.state['running'] !== undefined && pod.metadata.deletionTimestamp === undefined) {
    const message = 'Readiness probe failed: HTTP probe failed with statuscode: 503'
    return [{ ...kubelet('Unhealthy', message), fieldPath, count: random.int(40, 900) }]
  }
  return []
}

function kubelet(reason: string, message: string, type: Draft['type'] = 'Warning'): Omit<Draft, 'count'> {
  return { type, reason, message, component: 'kubelet' }
}

interface Held {
  readonly status: ContainerStatus
  readonly reason: string
  readonly fieldPath: string
  readonly image: string
}

/** The first container that waits for something that does not come. */
function heldContainer({ spec, status }: Pod): Held | undefined {
  const init = (status['initContainerStatuses'] ?? []) as readonly ContainerStatus[]
  const main = status.containerStatuses ?? []
  for (const [list, field] of [
    [init, 'initContainers'],
    [main, 'containers'],
  ] as const) {
    for (const candidate of list) {
      const reason = candidate.state['waiting']?.['reason']
      if (typeof reason !== 'string' || reason === 'PodInitializing') continue
      const container = spec[field]?.find(({ name }) => name === candidate.name)
      return { status: candidate, reason, fieldPath: `spec.${field}{${candidate.name}}`, image: container?.image ?? '' }
    }
  }
  return undefined
}

function draftsOfHeld(pod: Pod, { status, reason, fieldPath, image }: Held): Draft[] {
  const { name, restartCount } = status
  switch (reason) {
    case 'CrashLoopBackOff': {
      const pulled = `Container image "${image}" already present on machine`
      return [
        { ...kubelet('BackOff', backOffEvent(pod, name)), fieldPath, count: Math.max(12, restartCount) * 3 },
        { ...kubelet('Pulled', pulled, 'Normal'), fieldPath, count: Math.max(1, restartCount) },
      ]
    }
    case 'ImagePullBackOff': {
      const failed = `Failed to pull image "${image}": rpc error: code = NotFound desc = failed to pull and unpack image "${image}": not found`
      return [
        { ...kubelet('Failed', failed), fieldPath, count: 9 },
        { ...kubelet('BackOff', `Back-off pulling image "${image}"`), fieldPath, count: 141 },
      ]
    }
    case 'CreateContainerConfigError': {
      const message = String(status.state['waiting']?.['message'])
      return [{ ...kubelet('Failed', `Error: ${message}`), fieldPath, count: 310 }]
    }
    default:
      return []
  }
}

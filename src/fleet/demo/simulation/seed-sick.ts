/** Pods that do not fare well, and the events that tell of them. */
import type { App, Sickness } from '../catalogue/app.ts'
import { PRIORITIES } from '../objects/config.ts'
import { makeEvent, type EventDraft } from '../objects/event.ts'
import type { KubeObject, Pod, Workload } from '../objects/kinds.ts'
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
): PodState {
  const { random } = context
  const nowMs = context.nowMs()
  const running = { kind: 'running', startedMs: createdMs + 4_000, ready: true } as const
  if (place === undefined) return { kind: 'unschedulable', message: unschedulableMessage(context) }
  const recentMs = nowMs - random.int(2, 50) * MINUTE_MS
  const backoff = `back-off 5m0s restarting failed container=${app.name}`
  const dead = context.scheduler.nodes.some(({ name, dead: gone }) => gone && name === place.nodeName)
  if (dead) return { ...running, ready: false }
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
      return { kind: 'imagePull', message: `Back-off pulling image "${app.image}:${app.tag}"` }
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

/** Adds a pod beside those its owner counts. False: the sick pod is one of its owner's own. */
export function seedSickPod(context: Context, app: App, owner: Workload, name: string, sickness: Sickness): boolean {
  if (sickness.kind !== 'evicted' && sickness.kind !== 'stuckTerminating') return false
  const { random, scheduler } = context
  const nowMs = context.nowMs()
  const node = sickness.kind === 'stuckTerminating' ? scheduler.nodes.find(({ dead }) => dead)?.name : undefined
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
  const generateName = `${owner.metadata.name}-`
  const names = { name: `${generateName}${random.suffix()}`, generateName, namespace: app.namespace }
  const pod = makePod({ ...names, owner, template, createdMs, place, state, priority }, random)
  if (place !== undefined) scheduler.rename(name, pod.metadata.uid ?? '', place.nodeName)
  context.put(pod)
  return false
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
  const firstMs = draft.count > 1 ? lastMs - draft.count * 5 * MINUTE_MS : lastMs
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
  const main = pod.status.containerStatuses?.[0]
  const init = (pod.status['initContainerStatuses'] as typeof pod.status.containerStatuses | undefined) ?? []
  const failing = init.find(({ state }) => state['waiting']?.['reason'] === 'CrashLoopBackOff') ?? main
  const container = failing?.name ?? pod.spec.containers[0]?.name ?? ''
  const image = pod.spec.containers[0]?.image ?? ''
  const kubelet = (type: Draft['type'], reason: string, message: string, count = 1): Draft => ({
    type,
    reason,
    message,
    count,
    component: 'kubelet',
    fieldPath: `spec.${init.includes(failing as never) ? 'initContainers' : 'containers'}{${container}}`,
  })
  if (pod.status.reason === 'Evicted') return [kubelet('Warning', 'Evicted', String(pod.status['message']))]
  const reason = failing?.state['waiting']?.['reason'] ?? initImageReason(init)
  switch (reason) {
    case 'CrashLoopBackOff':
      return [
        kubelet('Warning', 'BackOff', backOffEvent(pod, container), Math.max(12, failing?.restartCount ?? 12) * 3),
        kubelet(
          'Normal',
          'Pulled',
          `Container image "${image}" already present on machine`,
          failing?.restartCount ?? 1,
        ),
      ]
    case 'ImagePullBackOff':
      return [
        kubelet(
          'Warning',
          'Failed',
          `Failed to pull image "${image}": rpc error: code = NotFound desc = failed to pull and unpack image "${image}": not found`,
          9,
        ),
        kubelet('Warning', 'BackOff', `Back-off pulling image "${image}"`, 141),
      ]
    case 'CreateContainerConfigError':
      return [kubelet('Warning', 'Failed', `Error: ${String(failing?.state['waiting']?.['message'])}`, 310)]
    default:
      break
  }
  if (pod.spec.nodeName === undefined) {
    return [
      {
        type: 'Warning',
        reason: 'FailedScheduling',
        message: unschedulableMessage(context),
        component: 'default-scheduler',
        count: random.int(20, 300),
      },
    ]
  }
  if (main?.lastState['terminated']?.['reason'] === 'OOMKilled') {
    return [kubelet('Warning', 'BackOff', backOffEvent(pod, container), random.int(3, 20))]
  }
  if (main?.ready === false && main.state['running'] !== undefined && pod.metadata.deletionTimestamp === undefined) {
    return [
      kubelet(
        'Warning',
        'Unhealthy',
        'Readiness probe failed: HTTP probe failed with statuscode: 503',
        random.int(40, 900),
      ),
    ]
  }
  return []
}

function initImageReason(init: readonly { state: Readonly<Record<string, Record<string, unknown>>> }[]): unknown {
  return init.map(({ state }) => state['waiting']?.['reason']).find((reason) => reason === 'ImagePullBackOff')
}

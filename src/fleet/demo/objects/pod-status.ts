/** The status a kubelet (or, for pods nobody runs, the scheduler) reports, for each way a pod can fare. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { rfc3339 } from '../timestamp.ts'
import { ended, identity, past, running, waiting, type PastEnd } from './container-status.ts'
import type { Condition, Container, ContainerStatus, PodSpec, PodStatus } from './kinds.ts'

export interface PodPlace {
  readonly nodeName: string
  readonly hostIP: string
  readonly podIP: string
  /** Of the node; admission puts both on a pod's labels. */
  readonly zone: string
  readonly region: string
}

export function topologyLabels({ zone, region }: PodPlace): Record<string, string> {
  return { 'topology.kubernetes.io/region': region, 'topology.kubernetes.io/zone': zone }
}

/** Times are milliseconds since the epoch. */
export type PodState =
  | { readonly kind: 'unschedulable'; readonly message: string }
  | { readonly kind: 'creating'; readonly waiting?: { readonly reason: string; readonly message?: string } }
  /** `inInit`: already the first init container cannot be had. */
  | { readonly kind: 'imagePull'; readonly message: string; readonly inInit: boolean }
  | {
      readonly kind: 'running'
      readonly startedMs: number
      readonly ready: boolean
      readonly restarts?: number
      readonly last?: PastEnd
    }
  | { readonly kind: 'crashLoop'; readonly restarts: number; readonly last: PastEnd; readonly backoff: string }
  | { readonly kind: 'initCrashLoop'; readonly restarts: number; readonly last: PastEnd; readonly backoff: string }
  | { readonly kind: 'evicted'; readonly message: string }
  | { readonly kind: 'succeeded'; readonly startedMs: number; readonly endedMs: number }
  | { readonly kind: 'failed'; readonly startedMs: number; readonly endedMs: number; readonly exitCode: number }
  | {
      readonly kind: 'terminating'
      readonly startedMs: number
      readonly deletedMs: number
      readonly finalizer?: string
    }

/** The status of a pod created at `createdMs` (ms). `random` gives container ids. */
export function podStatus(
  spec: PodSpec,
  state: PodState,
  createdMs: number,
  place: PodPlace | undefined,
  random: SeededRandom,
): PodStatus {
  if (place === undefined || state.kind === 'unschedulable') return unscheduled(spec, state, createdMs)
  if (state.kind === 'evicted') return evicted(spec, state.message, createdMs, place)
  const init = (spec.initContainers ?? []).map((container) => initStatus(container, state, createdMs, random))
  const main = spec.containers.map((container, index) => mainStatus(container, index, state, random))
  const ready = main.every((status) => status.ready)
  return {
    observedGeneration: 1,
    phase: phaseOf(state),
    conditions: conditionsOf(state, createdMs, ready, initialized(spec, state)),
    hostIP: place.hostIP,
    hostIPs: [{ ip: place.hostIP }],
    ...(hasAddress(state) ? { podIP: place.podIP, podIPs: [{ ip: place.podIP }] } : {}),
    startTime: rfc3339(createdMs),
    ...(init.length === 0 ? {} : { initContainerStatuses: init }),
    containerStatuses: main,
    qosClass: qosClass(spec),
  }
}

function phaseOf(state: PodState): string {
  switch (state.kind) {
    case 'running':
    case 'crashLoop':
    case 'terminating':
      return 'Running'
    case 'succeeded':
      return 'Succeeded'
    case 'failed':
    case 'evicted':
      return 'Failed'
    default:
      return 'Pending'
  }
}

function hasAddress(state: PodState): boolean {
  return state.kind !== 'creating' || state.waiting?.reason === 'CreateContainerConfigError'
}

function unscheduled(spec: PodSpec, state: PodState, createdMs: number): PodStatus {
  const message = state.kind === 'unschedulable' ? { reason: 'Unschedulable', message: state.message } : undefined
  const conditions = message === undefined ? [] : [condition('PodScheduled', 'False', createdMs, message)]
  return {
    observedGeneration: 1,
    phase: 'Pending',
    ...(conditions.length === 0 ? {} : { conditions }),
    qosClass: qosClass(spec),
  }
}

function evicted(spec: PodSpec, message: string, createdMs: number, place: PodPlace): PodStatus {
  const reason = 'TerminationByKubelet'
  return {
    observedGeneration: 1,
    phase: 'Failed',
    conditions: [
      condition('DisruptionTarget', 'True', createdMs, { reason, message }),
      condition('PodScheduled', 'True', createdMs),
    ],
    message: `The node was low on resource: ephemeral-storage. ${message}`,
    reason: 'Evicted',
    hostIP: place.hostIP,
    hostIPs: [{ ip: place.hostIP }],
    startTime: rfc3339(createdMs),
    qosClass: qosClass(spec),
  }
}

function condition(type: string, status: string, atMs: number, extra: JsonObject = {}): Condition {
  return { type, observedGeneration: 1, status, lastProbeTime: null, lastTransitionTime: rfc3339(atMs), ...extra }
}

/** Whether every init container is through, or (a native sidecar) started. */
function initialized({ initContainers = [] }: PodSpec, state: PodState): boolean {
  if (state.kind === 'initCrashLoop') return false
  if (state.kind === 'imagePull') return !state.inInit
  return state.kind !== 'creating' || state.waiting !== undefined || initContainers.length === 0
}

function conditionsOf(state: PodState, createdMs: number, ready: boolean, initialized: boolean): Condition[] {
  const finished = state.kind === 'succeeded'
  const readySince = 'startedMs' in state ? state.startedMs + 3_000 : createdMs + 6_000
  const sandbox = hasAddress(state) && state.kind !== 'succeeded' && state.kind !== 'failed'
  const unready = finished
    ? { reason: 'PodCompleted' }
    : state.kind === 'failed'
      ? { reason: 'PodFailed' }
      : { reason: 'ContainersNotReady', message: 'containers with unready status' }
  const readiness = (type: string): Condition =>
    ready ? condition(type, 'True', readySince) : condition(type, 'False', unreadySince(state, createdMs), unready)
  return [
    condition('PodReadyToStartContainers', sandbox ? 'True' : 'False', createdMs + 2_000),
    condition('Initialized', initialized ? 'True' : 'False', createdMs + 1_000, {
      ...(initialized ? (finished ? { reason: 'PodCompleted' } : {}) : { reason: 'ContainersNotInitialized' }),
    }),
    readiness('Ready'),
    readiness('ContainersReady'),
    condition('PodScheduled', 'True', createdMs),
  ]
}

function unreadySince(state: PodState, createdMs: number): number {
  if (state.kind === 'crashLoop') return state.last.endedMs
  if (state.kind === 'succeeded' || state.kind === 'failed') return state.endedMs
  return createdMs
}

function initStatus(container: Container, state: PodState, createdMs: number, random: SeededRandom): ContainerStatus {
  const native = container.restartPolicy === 'Always'
  if (state.kind === 'creating' || state.kind === 'imagePull') {
    if (state.kind === 'imagePull' && native) return running(container, createdMs + 3_000, true, random)
    return waiting(container, state.kind === 'imagePull' ? pullReason(state.message) : { reason: 'PodInitializing' })
  }
  if (native) return running(container, createdMs + 3_000, true, random)
  if (state.kind === 'initCrashLoop') return backingOff(container, state, random)
  const terminated = ended({ exitCode: 0, reason: 'Completed', endedMs: createdMs + 8_000 }, createdMs + 3_000, random)
  return { ...identity(container, random), state: { terminated }, lastState: {}, ready: true, started: false }
}

/** The first container is the one that fails; sidecars fare well. */
function mainStatus(container: Container, index: number, state: PodState, random: SeededRandom): ContainerStatus {
  const failing = index === 0
  switch (state.kind) {
    case 'running': {
      const status = running(container, state.startedMs, state.ready || !failing, random)
      if (!failing || state.last === undefined) return status
      return { ...status, ...past(state.last, random), restartCount: state.restarts ?? 1 }
    }
    case 'crashLoop':
      if (!failing) return running(container, state.last.endedMs - 3_600_000, true, random)
      return backingOff(container, state, random)
    case 'creating':
      return waiting(container, (failing ? state.waiting : undefined) ?? { reason: 'ContainerCreating' })
    case 'imagePull':
      return waiting(container, failing && !state.inInit ? pullReason(state.message) : { reason: 'PodInitializing' })
    case 'initCrashLoop':
      return waiting(container, { reason: 'PodInitializing' })
    case 'succeeded':
    case 'failed': {
      const exitCode = state.kind === 'failed' && failing ? state.exitCode : 0
      const end = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', endedMs: state.endedMs }
      const terminated = ended(end, state.startedMs, random)
      return { ...identity(container, random), state: { terminated }, lastState: {}, ready: false, started: false }
    }
    case 'terminating':
      return running(container, state.startedMs, true, random)
    case 'unschedulable':
    case 'evicted':
      throw new Error(`a pod that is ${state.kind} has no containers`)
    default:
      return state satisfies never
  }
}

/** A container that its kubelet waits with before it starts it again. */
function backingOff(
  container: Container,
  { last, restarts, backoff }: Extract<PodState, { readonly backoff: string }>,
  random: SeededRandom,
): ContainerStatus {
  return {
    ...identity(container, random),
    state: { waiting: { reason: 'CrashLoopBackOff', message: backoff } },
    ...past(last, random),
    restartCount: restarts,
  }
}

function pullReason(message: string): { reason: string; message: string } {
  return { reason: 'ImagePullBackOff', message }
}

export function qosClass(spec: PodSpec): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const all = [...(spec.initContainers ?? []), ...spec.containers].map((container) => container.resources)
  if (all.every(({ limits, requests }) => limits === undefined && requests === undefined)) return 'BestEffort'
  const equal = ({ limits = {}, requests = {} }: Container['resources']): boolean =>
    ['cpu', 'memory'].every((name) => limits[name] !== undefined && limits[name] === requests[name])
  return all.every(equal) ? 'Guaranteed' : 'Burstable'
}

/**
 * What the columns Ready, Status and Restarts of a pod say: its phase tells little about init containers, sidecars,
 * crash loops and terminations. Source: kubernetes pkg/printers/internalversion/printers.go, `printPod`.
 */
import type { JsonObject } from './column.ts'
import { at, has, integer, isTrue, items, text, timeMs } from './read.ts'

export interface PodStatus {
  readonly ready: number
  /** Containers and sidecars (init containers that restart always). */
  readonly total: number
  readonly reason: string
  readonly restarts: number
  /** Milliseconds since the epoch of the last termination that was followed by a restart. */
  readonly lastRestartMs: number | undefined
}

interface Progress {
  ready: number
  reason: string
}

interface Restarts {
  readonly count: number
  readonly lastMs: number | undefined
}

const NODE_LOST = 'NodeLost'

export function podStatus(pod: JsonObject): PodStatus {
  const conditions = items(pod, 'status', 'conditions')
  const sidecars = sidecarNames(pod)
  const initStatuses = items(pod, 'status', 'initContainerStatuses')
  const progress: Progress = { ready: 0, reason: phaseReason(pod, conditions) }

  const pending = readInitContainers(pod, initStatuses, sidecars, progress)
  // What stands behind the first init container that is not done has not started yet and does not count.
  let counted = pending === undefined ? initStatuses : initStatuses.slice(0, pending + 1)
  if (pending === undefined || isTrue(conditions, 'Initialized')) {
    counted = counted.filter((status) => sidecars.has(text(status, 'name')))
    counted = [...counted, ...items(pod, 'status', 'containerStatuses')]
    readContainers(pod, conditions, progress)
  }
  const restarts = restartsOf(counted)
  return {
    ready: progress.ready,
    total: items(pod, 'spec', 'containers').length + sidecars.size,
    reason: deletionReason(pod) ?? progress.reason,
    restarts: restarts.count,
    lastRestartMs: restarts.lastMs,
  }
}

function sidecarNames(pod: JsonObject): ReadonlySet<string> {
  const initContainers = items(pod, 'spec', 'initContainers')
  return new Set(
    initContainers.filter((container) => container['restartPolicy'] === 'Always').map((c) => text(c, 'name')),
  )
}

function phaseReason(pod: JsonObject, conditions: readonly JsonObject[]): string {
  const gated = conditions.some((c) => c['type'] === 'PodScheduled' && c['reason'] === 'SchedulingGated')
  if (gated) return 'SchedulingGated'
  return text(pod, 'status', 'reason') || text(pod, 'status', 'phase')
}

/** Walks the init containers in order; the index of the first that is neither done nor, as a sidecar, started. */
function readInitContainers(
  pod: JsonObject,
  statuses: readonly JsonObject[],
  sidecars: ReadonlySet<string>,
  progress: Progress,
): number | undefined {
  for (const [index, status] of statuses.entries()) {
    const terminated = at(status, 'state', 'terminated')
    if (has(terminated) && integer(terminated, 'exitCode') === 0) continue
    if (sidecars.has(text(status, 'name')) && status['started'] === true) {
      if (status['ready'] === true) progress.ready += 1
      continue
    }
    progress.reason = `Init:${initReason(status, index, items(pod, 'spec', 'initContainers').length)}`
    return index
  }
  return undefined
}

function initReason(status: JsonObject, index: number, total: number): string {
  const terminated = at(status, 'state', 'terminated')
  if (has(terminated)) return terminationReason(terminated)
  const waiting = text(status, 'state', 'waiting', 'reason')
  if (waiting !== '' && waiting !== 'PodInitializing') return waiting
  return `${String(index)}/${String(total)}`
}

function readContainers(pod: JsonObject, conditions: readonly JsonObject[], progress: Progress): void {
  let running = false
  let failure = ''
  // From the last to the first, so that the first container that has something to say says it.
  for (const status of items(pod, 'status', 'containerStatuses').toReversed()) {
    const terminated = at(status, 'state', 'terminated')
    const waiting = text(status, 'state', 'waiting', 'reason')
    if (waiting !== '') {
      progress.reason = waiting
    } else if (has(terminated)) {
      progress.reason = terminationReason(terminated)
      if (integer(terminated, 'exitCode') !== 0) failure = progress.reason
    } else if (status['ready'] === true && has(status, 'state', 'running')) {
      running = true
      progress.ready += 1
    }
  }
  if (progress.reason !== 'Completed') return
  // One container is done, and another one may not be.
  if (running && isTrueAnywhere(conditions, 'Ready')) progress.reason = 'Running'
  else if (failure !== '') progress.reason = failure
  else if (running) progress.reason = 'NotReady'
}

function terminationReason(terminated: unknown): string {
  const reason = text(terminated, 'reason')
  if (reason !== '') return reason
  const signal = integer(terminated, 'signal')
  return signal === 0 ? `ExitCode:${String(integer(terminated, 'exitCode'))}` : `Signal:${String(signal)}`
}

function deletionReason(pod: JsonObject): string | undefined {
  if (!has(pod, 'metadata', 'deletionTimestamp')) return undefined
  if (text(pod, 'status', 'reason') === NODE_LOST) return 'Unknown'
  const phase = text(pod, 'status', 'phase')
  return phase === 'Succeeded' || phase === 'Failed' ? undefined : 'Terminating'
}

function isTrueAnywhere(conditions: readonly JsonObject[], type: string): boolean {
  return conditions.some((c) => c['type'] === type && c['status'] === 'True')
}

function restartsOf(statuses: readonly JsonObject[]): Restarts {
  let count = 0
  let lastMs: number | undefined
  for (const status of statuses) {
    count += integer(status, 'restartCount')
    const finishedMs = timeMs(at(status, 'lastState', 'terminated', 'finishedAt'))
    if (finishedMs !== undefined && (lastMs === undefined || finishedMs > lastMs)) lastMs = finishedMs
  }
  return { count, lastMs }
}

/** Pods and pod templates. */
import { humanDuration } from '../duration.ts'
import type { JsonObject, KindColumns, RowCondition } from './column.ts'
import { ageColumn, column, containerColumns, extra, labelMapColumn, nameColumn, perObject } from './define.ts'
import { podLimit, podRequest } from './pod-resources.ts'
import { podStatus, type PodStatus } from './pod-status.ts'
import { at, has, integer, items, optionalInteger, optionalText, text } from './read.ts'

const status = perObject(podStatus)

const ipOf = (pod: JsonObject): string => text(items(pod, 'status', 'podIPs')[0], 'ip') || text(pod, 'status', 'podIP')

export const pod: KindColumns = {
  columns: [
    nameColumn,
    column('Ready', (pod) => `${String(status(pod).ready)}/${String(status(pod).total)}`, {
      description: 'Containers that are ready, of all that should be.',
    }),
    column('Status', (pod) => status(pod).reason, { description: 'What the pod does, or what ails it.' }),
    column('Restarts', (pod, nowMs) => restartsCell(status(pod), nowMs), {
      description: 'How often containers were restarted, and when last.',
      type: 'int',
      value: (pod) => status(pod).restarts,
    }),
    ageColumn,
    column('IP', (pod) => ipOf(pod) || '<none>', { description: 'First address of the pod.', wide: true, type: 'ip' }),
    column('Node', (pod) => text(pod, 'spec', 'nodeName') || '<none>', {
      description: 'The node it is bound to.',
      wide: true,
    }),
    column('Nominated Node', (pod) => text(pod, 'status', 'nominatedNodeName') || '<none>', {
      description: 'The node where others are preempted to make room for it.',
      wide: true,
    }),
    column('Readiness Gates', readinessGates, {
      description: 'Conditions beyond its containers that must be true, and how many are.',
      wide: true,
    }),
  ],
  extra: [
    extra('phase', 'keyword', (pod) => optionalText(pod, 'status', 'phase')),
    extra('health', 'keyword', health),
    extra('containers', 'int', (pod) => status(pod).total),
    extra('readycontainers', 'int', (pod) => status(pod).ready),
    extra('lastrestart', 'time', (pod) => isoTime(status(pod).lastRestartMs)),
    extra('started', 'time', (pod) => optionalText(pod, 'status', 'startTime')),
    extra('hostip', 'ip', (pod) => optionalText(pod, 'status', 'hostIP')),
    extra('qos', 'keyword', (pod) => optionalText(pod, 'status', 'qosClass')),
    extra('priority', 'int', (pod) => optionalInteger(pod, 'spec', 'priority')),
    extra('priorityclass', 'keyword', (pod) => optionalText(pod, 'spec', 'priorityClassName')),
    extra('serviceaccount', 'keyword', (pod) => optionalText(pod, 'spec', 'serviceAccountName')),
    extra('exitcode', 'int', lastExitCode),
    extra('cpu', 'quantity', (pod) => podRequest(pod, 'cpu')),
    extra('memory', 'quantity', (pod) => podRequest(pod, 'memory')),
    extra('cpulimit', 'quantity', (pod) => podLimit(pod, 'cpu')),
    extra('memorylimit', 'quantity', (pod) => podLimit(pod, 'memory')),
  ],
  rowConditions: (pod) => ROW_CONDITIONS.get(text(pod, 'status', 'phase')),
}

export const podTemplate: KindColumns = {
  columns: [
    nameColumn,
    ...containerColumns((template) => at(template, 'template', 'spec'), false),
    labelMapColumn('Pod Labels', ['template', 'metadata', 'labels'], { description: 'Labels of its pods.' }),
  ],
}

const completed = (reason: string, message: string): readonly RowCondition[] => [
  { type: 'Completed', status: 'True', reason, message },
]

const ROW_CONDITIONS: ReadonlyMap<string, readonly RowCondition[]> = new Map([
  ['Succeeded', completed('Succeeded', 'All containers of the pod ended well.')],
  ['Failed', completed('Failed', 'The pod ended, and not all of its containers well.')],
])

function restartsCell({ restarts, lastRestartMs }: PodStatus, nowMs: number): string {
  if (restarts === 0 || lastRestartMs === undefined) return String(restarts)
  return `${String(restarts)} (${humanDuration(nowMs - lastRestartMs)} ago)`
}

function readinessGates(pod: JsonObject): string {
  const gates = items(pod, 'spec', 'readinessGates')
  if (gates.length === 0) return '<none>'
  const conditions = items(pod, 'status', 'conditions')
  const met = gates.filter((gate) => conditions.find((c) => c['type'] === gate['conditionType'])?.['status'] === 'True')
  return `${String(met.length)}/${String(gates.length)}`
}

/**
 * `Healthy`, `Unhealthy`, `Starting`, `Terminating` or `Completed`: counts of healthy and unhealthy pods leave out those
 * that are going or done.
 */
function health(pod: JsonObject): string {
  if (has(pod, 'metadata', 'deletionTimestamp')) return 'Terminating'
  const phase = text(pod, 'status', 'phase')
  if (phase === 'Succeeded') return 'Completed'
  const { ready, total, reason } = status(pod)
  if (phase === 'Running') return ready === total && reason === 'Running' ? 'Healthy' : 'Unhealthy'
  return phase === 'Pending' && STARTING.test(reason) ? 'Starting' : 'Unhealthy'
}

/** Reasons of pods that are on their way and have not failed yet. */
const STARTING = /^(Pending|ContainerCreating|PodInitializing|SchedulingGated|Init:[0-9]+\/[0-9]+)$/

/** The exit code of the container that ended last, whether or not it was started again. */
function lastExitCode(pod: JsonObject): number | undefined {
  let latest: { at: string; code: number } | undefined
  for (const container of items(pod, 'status', 'containerStatuses')) {
    for (const state of ['state', 'lastState']) {
      const ended = at(container, state, 'terminated')
      const finishedAt = text(ended, 'finishedAt')
      if (!has(ended) || (latest !== undefined && finishedAt <= latest.at)) continue
      latest = { at: finishedAt, code: integer(ended, 'exitCode') }
    }
  }
  return latest?.code
}

function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

/**
 * HorizontalPodAutoscalers, of autoscaling/v2 and of v1, which keeps its CPU target in fields of its own and all other
 * metrics in annotations. Source: kubernetes printers.go `formatHPAMetrics`, pkg/apis/autoscaling/v1/conversion.go.
 */
import type { JsonObject, KindColumns } from './column.ts'
import { ageColumn, column, count, extra, nameColumn } from './define.ts'
import { withMore } from './format.ts'
import { at, has, integer, isObject, items, optionalInteger, optionalText, text } from './read.ts'

const SHOWN = 2
const SPECS_ANNOTATION = 'autoscaling.alpha.kubernetes.io/metrics'
const STATUSES_ANNOTATION = 'autoscaling.alpha.kubernetes.io/current-metrics'
const DEFAULT_CPU_PERCENT = 80
/** How Go prints an amount that should be there and is not. */
const NIL = '<nil>'

/** A metric's target, or what it is at: one of these. */
interface Amounts {
  readonly value: string | undefined
  readonly average: string | undefined
  readonly utilization: number | undefined
}

interface Metric {
  readonly type: string
  /** Of Resource and ContainerResource. */
  readonly resource: string
  /** Tells it from the other metrics of its object. */
  readonly key: string
  readonly amounts: Amounts
}

export const horizontalPodAutoscaler: KindColumns = {
  columns: [
    nameColumn,
    column(
      'Reference',
      (hpa) => `${text(hpa, 'spec', 'scaleTargetRef', 'kind')}/${text(hpa, 'spec', 'scaleTargetRef', 'name')}`,
      { description: 'What it scales.' },
    ),
    column('Targets', targets, { description: 'Where its metrics are, and where they should be.' }),
    column('MinPods', (hpa) => optionalInteger(hpa, 'spec', 'minReplicas')?.toString() ?? '<unset>', {
      description: 'Fewest pods.',
      type: 'int',
      value: (hpa) => optionalInteger(hpa, 'spec', 'minReplicas'),
    }),
    count('MaxPods', (hpa) => integer(hpa, 'spec', 'maxReplicas'), { description: 'Most pods.', tableType: 'string' }),
    count('Replicas', (hpa) => integer(hpa, 'status', 'currentReplicas'), {
      description: 'Pods there are.',
      tableType: 'string',
    }),
    ageColumn,
  ],
  extra: [extra('desiredreplicas', 'int', (hpa) => integer(hpa, 'status', 'desiredReplicas'))],
}

function targets(hpa: JsonObject): string {
  const isV1 = text(hpa, 'apiVersion') === 'autoscaling/v1'
  const specs = isV1 ? v1Specs(hpa) : items(hpa, 'spec', 'metrics').map((metric) => v2Metric(metric, 'target'))
  if (specs.length === 0) return '<none>'
  const currents = isV1
    ? v1Statuses(hpa)
    : items(hpa, 'status', 'currentMetrics').map((metric) => v2Metric(metric, 'current'))
  const currentOf = (spec: Metric, index: number): Metric | undefined =>
    isV1 ? currents.find((current) => current.key === spec.key) : currents[index]
  return withMore(
    specs.map((spec, index) => metricText(spec, sameType(spec, currentOf(spec, index)))),
    SHOWN,
    ', ',
  )
}

function sameType(spec: Metric, current: Metric | undefined): Amounts | undefined {
  return current?.type === spec.type ? current.amounts : undefined
}

function metricText(spec: Metric, current: Amounts | undefined): string {
  const { average, value } = spec.amounts
  switch (spec.type) {
    case 'External':
    case 'Object':
      if (average !== undefined) return `${current?.average ?? '<unknown>'}/${average} (avg)`
      return `${current === undefined ? '<unknown>' : (current.value ?? NIL)}/${value ?? NIL}`
    case 'Pods':
      return `${current === undefined ? '<unknown>' : (current.average ?? NIL)}/${average ?? NIL}`
    case 'Resource':
    case 'ContainerResource':
      return `${spec.resource}: ${resourceText(spec.amounts, current)}`
    default:
      return '<unknown type>'
  }
}

function resourceText(target: Amounts, current: Amounts | undefined): string {
  if (target.average !== undefined) {
    return `${current === undefined ? '<unknown>' : (current.average ?? NIL)}/${target.average}`
  }
  return `${percent(current?.utilization) ?? '<unknown>'}/${percent(target.utilization) ?? '<auto>'}`
}

function percent(utilization: number | undefined): string | undefined {
  return utilization === undefined ? undefined : `${String(utilization)}%`
}

/** `Resource` keeps its details under `resource`, `ContainerResource` under `containerResource`, and so on. */
function details(metric: JsonObject): unknown {
  const type = text(metric, 'type')
  return at(metric, type.charAt(0).toLowerCase() + type.slice(1))
}

function v2Metric(metric: JsonObject, side: 'target' | 'current'): Metric {
  const found = details(metric)
  return {
    type: has(found) || side === 'target' ? text(metric, 'type') : '',
    resource: text(found, 'name'),
    key: '',
    amounts: {
      value: optionalText(found, side, 'value'),
      average: optionalText(found, side, 'averageValue'),
      utilization: optionalInteger(found, side, 'averageUtilization'),
    },
  }
}

/** In v1 nobody knows any more where among the metrics the CPU stood; it is nearly always the first. */
function v1Specs(hpa: JsonObject): Metric[] {
  const others = annotated(hpa, SPECS_ANNOTATION).map((metric) => v1Metric(metric, 'target'))
  const cpu = optionalInteger(hpa, 'spec', 'targetCPUUtilizationPercentage')
  if (cpu !== undefined) return [cpuMetric(cpu), ...others]
  return others.length > 0 ? others : [cpuMetric(DEFAULT_CPU_PERCENT)]
}

function v1Statuses(hpa: JsonObject): Metric[] {
  const others = annotated(hpa, STATUSES_ANNOTATION).map((metric) => v1Metric(metric, 'current'))
  const cpu = optionalInteger(hpa, 'status', 'currentCPUUtilizationPercentage')
  return others.length === 0 && cpu !== undefined ? [cpuMetric(cpu)] : others
}

function cpuMetric(utilization: number): Metric {
  const amounts = { value: undefined, average: undefined, utilization }
  return { type: 'Resource', resource: 'cpu', key: 'Resource/cpu//', amounts }
}

function v1Metric(metric: JsonObject, side: 'target' | 'current'): Metric {
  const found = details(metric)
  const key = (name: string): string => `${side}${name}`
  const plain = text(metric, 'type') === 'Object' ? 'averageValue' : key('AverageValue')
  return {
    type: has(found) ? text(metric, 'type') : '',
    resource: text(found, 'name'),
    key: [text(metric, 'type'), text(found, 'name'), text(found, 'metricName'), text(found, 'container')].join('/'),
    amounts: {
      value: optionalText(found, key('Value')),
      average: optionalText(found, plain),
      utilization: optionalInteger(found, key('AverageUtilization')),
    },
  }
}

function annotated(hpa: JsonObject, key: string): readonly JsonObject[] {
  try {
    const parsed: unknown = JSON.parse(text(hpa, 'metadata', 'annotations', key) || '[]')
    return Array.isArray(parsed) ? parsed.filter(isObject) : []
  } catch {
    return []
  }
}

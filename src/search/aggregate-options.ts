/** The parameters of an aggregate, read and looked up. */
import { badRequest } from '../kube/status-error.ts'
import type { AggregateRequest, Metric, MetricFunction } from '../query/aggregate.ts'
import type { Field, FieldCatalog } from '../query/fields.ts'
import { TIME_UNIT_CHARS, type Dimension, type TimeUnit } from '../query/search-request.ts'
import { fieldOf, flag, namesOf, wholeNumber } from './parameters.ts'

/** With the metric that is looked at, five dimensions are what a store counts by. */
const MAX_KEYS = 4
/** Each is another count. */
const MAX_METRICS = 8
const DEFAULT_GROUPS = 100
const MAX_GROUPS = 10_000

export interface NamedAggregate {
  readonly request: Omit<AggregateRequest, 'predicate' | 'visible'>
  readonly keys: readonly string[]
  readonly metrics: readonly string[]
}

/** Throws `badRequest` that names the parameter. */
export function readAggregate(parameters: URLSearchParams, fields: FieldCatalog): NamedAggregate {
  const keys = namesOf(parameters, 'by', MAX_KEYS)
  const metrics = namesOf(parameters, 'metrics', MAX_METRICS).filter((name) => name !== 'count')
  const request = {
    groupBy: keys.map((name) => keyOf(name, fields)),
    metrics: metrics.map((name) => metricOf(name, fields)),
    order: orderOf(parameters.get('sort') ?? '', metrics),
    limit: wholeNumber(parameters, 'limit', DEFAULT_GROUPS, MAX_GROUPS),
    dropMissing: !flagOr(parameters, 'missing', true),
  }
  return { request, keys, metrics }
}

function flagOr(parameters: URLSearchParams, name: string, ifAbsent: boolean): boolean {
  return parameters.has(name) ? flag(parameters, name) : ifAbsent
}

/** `namespace`, `created:day`. A quantity is counted as the number it is. */
function keyOf(name: string, fields: FieldCatalog): Dimension {
  const [, timed, unit] = /^(.*):([a-z]+)$/.exec(name) ?? []
  if (timed !== undefined && unit !== undefined && Object.hasOwn(TIME_UNIT_CHARS, unit)) {
    const field = fieldOf('by', timed, fields)
    if (!isTimed(field)) throw badRequest(`by: ${JSON.stringify(timed)} has no times`)
    return { type: 'time', path: field.path, unit: unit as TimeUnit }
  }
  const { path, types } = fieldOf('by', name, fields)
  return { type: types.size === 1 && types.has('quantity') ? 'number' : 'value', path }
}

const METRIC = /^([a-z][a-z0-9.]*)\((.+)\)$/

/** `sum(memory)`, `p95(restarts)`, `max(created)`, `distinct(node)`. */
function metricOf(text: string, fields: FieldCatalog): Metric {
  const [, name = '', inner = ''] = METRIC.exec(text) ?? []
  const fn = functionOf(name)
  if (fn === undefined) {
    const known = 'count, sum(x), avg(x), min(x), max(x), p50(x), distinct(x)'
    throw badRequest(`metrics: ${JSON.stringify(text.slice(0, 80))} is none of ${known}`)
  }
  return { function: fn, dimension: measuredBy(fn, inner, fieldOf('metrics', inner, fields)) }
}

function functionOf(name: string): MetricFunction | undefined {
  switch (name) {
    case 'sum':
    case 'avg':
    case 'min':
    case 'max':
    case 'count':
    case 'distinct':
      return { type: name }
  }
  const percent = Number(/^p([0-9]{1,3}(?:\.[0-9]{1,3})?)$/.exec(name)?.[1] ?? 0)
  return percent > 0 && percent <= 100 ? { type: 'percentile', percent } : undefined
}

function measuredBy({ type }: MetricFunction, name: string, field: Field): Dimension {
  if (type === 'count' || type === 'distinct') return { type: 'value', path: field.path }
  if (isNumeric(field)) return { type: 'number', path: field.path }
  if (isTimed(field) && type !== 'sum' && type !== 'avg') return { type: 'time', path: field.path }
  const problem = isTimed(field) ? 'is a time, which has no sum' : 'has no numbers'
  throw badRequest(`metrics: ${JSON.stringify(name.slice(0, 80))} ${problem}`)
}

/** Annotations and JSON paths have whatever is in them. */
function isNumeric({ types, path }: Field): boolean {
  return (
    ['int', 'quantity', 'duration', 'json'].some((type) => types.has(type as 'int')) || path.startsWith('annotation.')
  )
}

function isTimed({ types, path }: Field): boolean {
  return types.has('time') || types.has('json') || path.startsWith('annotation.')
}

/** `-count` is the default; a metric as it is written; `key`. */
function orderOf(text: string, metrics: readonly string[]): AggregateRequest['order'] {
  if (text === '') return { by: 'documents', descending: true }
  const descending = text.startsWith('-')
  const name = descending ? text.slice(1) : text
  if (name === 'count') return { by: 'documents', descending }
  if (name === 'key') return { by: 'keys', descending }
  const by = metrics.indexOf(name)
  if (by < 0)
    throw badRequest(`sort: ${JSON.stringify(name.slice(0, 80))} is neither count nor key nor one of the metrics`)
  return { by, descending }
}

/**
 * Counts, sums, averages, extremes and percentiles by groups, from what a store counts (`SearchStore.count`): a store tells
 * how many documents have each value in each group, and the arithmetic is done here, exactly, the same for every store.
 *
 * - A document stands in a group for each value that it has of a key (a list's values each), and in the group of the missing
 *   (null) where it has none; `dropMissing` leaves that group out.
 * - A metric looks at the numbers (or times) of its field or path; of a path with a list each distinct number of a document
 *   counts once. Documents without one do not count; a group without any has null.
 * - Numbers are in the units in which Kubernetes writes them: bytes, cores, seconds. `sum` is exact at any size, `avg` is
 *   the nearest double, `p50` … are the smallest value that so many percent of the values do not exceed (nearest rank).
 */
import { StatusError } from '../kube/status-error.ts'
import { add, compareDecimals, decimalOf, decimalText, times, ZERO, type Decimal } from './decimal.ts'
import type { CountResult, Dimension, SearchRequest, SearchStore } from './search-request.ts'
import { numberOfKey, timeOfKey } from './sortable.ts'
import { compareUtf8 } from '../util/bytes.ts'

export type MetricFunction =
  | { readonly type: 'sum' | 'avg' | 'min' | 'max' | 'count' | 'distinct' }
  /** 0 < `percent` ≤ 100. */
  | { readonly type: 'percentile'; readonly percent: number }

export interface Metric {
  readonly function: MetricFunction
  readonly dimension: Dimension
}

export interface AggregateRequest extends Pick<SearchRequest, 'predicate' | 'visible'> {
  readonly groupBy: readonly Dimension[]
  readonly metrics: readonly Metric[]
  /** By a group's number of documents, its keys, or a metric by its place. Ties by the keys, ascending. */
  readonly order: { readonly by: 'documents' | 'keys' | number; readonly descending: boolean }
  readonly limit: number
  readonly dropMissing: boolean
}

/** `json`: as it stands in JSON; numbers with all their digits. */
export interface Shown {
  readonly json: string
}

export interface AggregateGroup {
  readonly keys: readonly Shown[]
  readonly documents: number
  readonly metrics: readonly Shown[]
}

export interface AggregateResult {
  readonly groups: readonly AggregateGroup[]
  /** Groups there are. */
  readonly distinct: number
}

/** Of one store call: about 100 bytes each here and in the store. */
const MAX_ROWS = 200_000

interface Group {
  readonly keys: readonly (string | null)[]
  documents: number
  readonly values: Map<string, Counted[]>
}

interface Counted {
  readonly key: string
  readonly documents: number
}

/** Rejects with an `invalid` StatusError where there are more than 200,000 combinations of keys and values. */
export async function aggregate(
  store: Pick<SearchStore, 'count'>,
  request: AggregateRequest,
): Promise<AggregateResult> {
  const { groupBy, metrics } = request
  const groups = new Map<string, Group>()
  for (const { keys, documents } of (await count(store, request, groupBy)).rows) {
    groups.set(JSON.stringify(keys), { keys, documents, values: new Map() })
  }
  const measured = new Map(metrics.map(({ dimension }) => [JSON.stringify(dimension), dimension]))
  for (const [name, dimension] of measured) {
    for (const { keys, documents } of (await count(store, request, [...groupBy, dimension])).rows) {
      const value = keys.at(-1)
      if (value === null || value === undefined) continue
      note(groups, keys.slice(0, -1), name, { key: value, documents })
    }
  }
  const kept = [...groups.values()].filter(({ keys }) => !request.dropMissing || !keys.includes(null))
  return { groups: ordered(kept, request).map((group) => shown(group, metrics)), distinct: kept.length }
}

async function count(
  store: Pick<SearchStore, 'count'>,
  { predicate, visible }: AggregateRequest,
  dimensions: readonly Dimension[],
): Promise<CountResult> {
  const found = await store.count({
    predicate,
    ...(visible === undefined ? {} : { visible }),
    dimensions,
    maxRows: MAX_ROWS,
  })
  if (!found.complete) throw tooManyRows()
  return found
}

function tooManyRows(): StatusError {
  const message = `more than ${MAX_ROWS} combinations of keys and values: ask for fewer keys or narrow the query`
  return new StatusError('invalid', message)
}

/** A group that has come between two calls to the store is left out. */
function note(groups: Map<string, Group>, keys: readonly (string | null)[], metric: string, counted: Counted): void {
  const group = groups.get(JSON.stringify(keys))
  if (group === undefined) return
  const known = group.values.get(metric)
  if (known === undefined) group.values.set(metric, [counted])
  else known.push(counted)
}

interface Measure {
  readonly group: Group
  readonly by: Decimal | string | undefined
}

function ordered(groups: readonly Group[], { order, metrics, limit }: AggregateRequest): Group[] {
  const direction = order.descending ? -1 : 1
  const metric = typeof order.by === 'number' ? metrics[order.by] : undefined
  const measures = groups.map((group): Measure => ({
    group,
    by: metric === undefined ? undefined : measure(group, metric),
  }))
  const compare = (a: Measure, b: Measure): number => {
    if (order.by === 'keys') return direction * compareKeys(a.group.keys, b.group.keys)
    const first = metric === undefined ? a.group.documents - b.group.documents : undefined
    const compared = first === undefined ? compareMeasures(a.by, b.by, direction) : direction * first
    return compared || compareKeys(a.group.keys, b.group.keys)
  }
  return measures
    .sort(compare)
    .slice(0, limit)
    .map(({ group }) => group)
}

/** Groups without a value last in both directions. */
function compareMeasures(a: Measure['by'], b: Measure['by'], direction: number): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1
  if (typeof a === 'string' || typeof b === 'string') return direction * compareUtf8(String(a), String(b))
  return direction * compareDecimals(a, b)
}

/** By the bytes of each key: of one sort they stand as their values do; numbers before texts before times; missing last. */
function compareKeys(a: readonly (string | null)[], b: readonly (string | null)[]): number {
  for (const [i, x] of a.entries()) {
    const y = b[i] ?? null
    if (x === y) continue
    if (x === null || y === null) return x === null ? 1 : -1
    return compareUtf8(x, y)
  }
  return 0
}

function shown(group: Group, metrics: readonly Metric[]): AggregateGroup {
  return {
    keys: group.keys.map((key) => ({ json: key === null ? 'null' : shownKey(key) })),
    documents: group.documents,
    metrics: metrics.map((metric) => ({ json: shownMeasure(group, metric) })),
  }
}

function shownKey(key: string): string {
  const text = key.slice(1)
  if (key.startsWith('#')) return numberOfKey(text)
  return JSON.stringify(key.startsWith('@') ? shownTime(text) : text)
}

/** A time, or the beginning of one: `2026-11`, `2026-11-30T08`. */
function shownTime(digits: string): string {
  if (digits.length >= 14) return timeOfKey(digits)
  const date = [digits.slice(0, 4), digits.slice(4, 6), digits.slice(6, 8)].filter((part) => part !== '').join('-')
  const time = [digits.slice(8, 10), digits.slice(10, 12)].filter((part) => part !== '').join(':')
  return time === '' ? date : `${date}T${time}${time.length === 2 ? ':00' : ''}Z`
}

function shownMeasure(group: Group, metric: Metric): string {
  const value = measure(group, metric)
  if (value === undefined) return 'null'
  if (typeof value === 'string') return shownKey(value)
  return decimalText(value)
}

/** A number, or the key of a time. Undefined where the group has no value. */
function measure(group: Group, { function: fn, dimension }: Metric): Decimal | string | undefined {
  const values = group.values.get(JSON.stringify(dimension)) ?? []
  const counted = values.reduce((total, { documents }) => total + documents, 0)
  switch (fn.type) {
    case 'count':
      return { mantissa: BigInt(counted), exponent: 0 }
    case 'distinct':
      return { mantissa: BigInt(values.length), exponent: 0 }
    case 'sum':
      return counted === 0 ? undefined : sumOf(values)
    case 'avg':
      return counted === 0 ? undefined : average(sumOf(values), counted)
    case 'min':
      return at(values, 1)
    case 'max':
      return at(values, counted)
    case 'percentile':
      return at(values, Math.ceil((fn.percent / 100) * counted - 1e-9))
  }
}

function sumOf(values: readonly Counted[]): Decimal {
  return values.reduce((sum, { key, documents }) => add(sum, times(numberAt(key), documents)), ZERO)
}

/** To 17 significant digits, more than a double has. */
function average(sum: Decimal, count: number): Decimal {
  const digits = 17 + String(count).length
  const mantissa = sum.mantissa * 10n ** BigInt(digits)
  const quotient = mantissa / BigInt(count)
  const exact = quotient * BigInt(count) === mantissa
  const result = { mantissa: quotient, exponent: sum.exponent - digits }
  return exact ? result : decimalOf(doubleText(Number(decimalText(result))))
}

function doubleText(value: number): string {
  return String(value).replace('e+', 'e')
}

/** The `rank`th value in their order, the first being 1. */
function at(values: readonly Counted[], rank: number): Decimal | string | undefined {
  let seen = 0
  for (const { key, documents } of values.toSorted((a, b) => compareUtf8(a.key, b.key))) {
    seen += documents
    if (seen >= Math.max(1, rank)) return key.startsWith('#') ? numberAt(key) : key
  }
  return undefined
}

function numberAt(key: string): Decimal {
  return decimalOf(numberOfKey(key.slice(1)))
}

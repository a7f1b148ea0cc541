/**
 * `sortBy` of a list: `restarts`, `-memory,name`, `.spec.replicas`. Terms are columns of the kind, `cluster`,
 * `namespace`, `name`, or a JSON path that begins with a dot; `-` turns one around. Objects without a value come last in
 * both directions; ties are ordered by cluster, namespace, name.
 */
import type { PageObject } from './object-page.ts'
import type { ColumnType, ColumnValue, JsonObject, KindColumns } from '../kube/columns/column.ts'
import { badRequest } from '../kube/status-error.ts'
import { sortableIp, sortableNumber, sortableText, sortableTime, sortableVersion } from '../query/sortable.ts'
import { compareUtf8 } from '../util/bytes.ts'

/** A value as text whose byte order is its order; null where the object has none. */
export type SortKey = string | null

export interface SortBy {
  /** As it was asked for; a continue token only fits the same one. */
  readonly text: string
  readonly terms: readonly SortTerm[]
}

export interface SortTerm {
  readonly descending: boolean
  key(item: PageObject, object: () => JsonObject): SortKey
}

export interface Sortable {
  readonly keys: readonly SortKey[]
  readonly item: PageObject
}

/** Throws `badRequest` for a term that is neither a column nor a path. */
export function parseSortBy(text: string, columns: KindColumns): SortBy {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return { text: names.join(','), terms: names.map((name) => parseTerm(name, columns)) }
}

/** A total order: no two objects are equal. */
export function comparator(terms: readonly SortTerm[]): (a: Sortable, b: Sortable) => number {
  return (a, b) => {
    for (const [i, { descending }] of terms.entries()) {
      const order = compareKeys(a.keys[i] ?? null, b.keys[i] ?? null, descending)
      if (order !== 0) return order
    }
    return (
      compareUtf8(a.item.cluster, b.item.cluster) ||
      compareUtf8(a.item.namespace, b.item.namespace) ||
      compareUtf8(a.item.name, b.item.name)
    )
  }
}

function compareKeys(a: SortKey, b: SortKey, descending: boolean): number {
  if (a === b) return 0
  if (a === null) return 1
  if (b === null) return -1
  return descending ? compareUtf8(b, a) : compareUtf8(a, b)
}

function parseTerm(text: string, columns: KindColumns): SortTerm {
  const descending = text.startsWith('-')
  const name = descending ? text.slice(1) : text
  if (name === 'cluster' || name === 'namespace' || name === 'name') {
    return { descending, key: (item) => sortableText(item[name]) }
  }
  const field = [...columns.columns, ...(columns.extra ?? [])].find((column) => column.field === name)
  if (field !== undefined) {
    return { descending, key: (_item, object) => columnKey(field.type, field.value(object())) }
  }
  const path = parsePath(name)
  if (path === undefined) {
    throw badRequest(`sortBy: ${JSON.stringify(name)} is no column of this kind; a JSON path begins with a dot`)
  }
  return { descending, key: (_item, object) => pathKey(valueAt(object(), path)) }
}

function columnKey(type: ColumnType, value: ColumnValue): SortKey {
  if (value === undefined) return null
  const text = String(value)
  switch (type) {
    case 'int':
    case 'quantity':
    case 'duration':
      return sortableNumber(text) ?? null
    case 'time':
      return sortableTime(text) ?? null
    case 'version':
      return sortableVersion(text) ?? null
    case 'ip':
      return sortableIp(text) ?? null
    case 'bool':
    case 'keyword':
    case 'text':
      return sortableText(text)
    default:
      return type satisfies never
  }
}

/** Of a path's value nothing says what it is: numbers and quantities come first, then times, then text. */
function pathKey(value: unknown): SortKey {
  if (typeof value === 'number' || typeof value === 'boolean') return `1${sortableNumber(String(Number(value))) ?? ''}`
  if (typeof value !== 'string') return null
  const number = sortableNumber(value)
  if (number !== undefined) return `1${number}`
  const time = sortableTime(value)
  return time === undefined ? `3${sortableText(value)}` : `2${time}`
}

/** `.spec.containers[0].image`, `{.metadata.name}`, `.metadata.labels['app.kubernetes.io/name']`. */
function parsePath(text: string): readonly string[] | undefined {
  const bare = text.replace(/^\{(.*)\}$/, '$1')
  const steps = [...bare.matchAll(/\.([^.[\]]+)|\[(?:'([^']*)'|"([^"]*)"|([0-9]+))\]/g)]
  if (steps.length === 0 || steps.map(([whole]) => whole).join('') !== bare) return undefined
  return steps.map(([, name, single, double, index]) => name ?? single ?? double ?? index ?? '')
}

function valueAt(object: unknown, path: readonly string[]): unknown {
  let value = object
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}

/** How a kube-apiserver writes what several kinds have. Source: kubernetes pkg/printers/internalversion/printers.go. */
import { compareUtf8 } from '../../util/bytes.ts'
import { humanDuration } from '../duration.ts'
import { labelSelectorFrom, type LabelSelectorObject } from '../label-selector.ts'
import type { JsonObject } from './column.ts'
import { isObject, text, timeMs } from './read.ts'

/** `5m`, the time since an RFC 3339 timestamp; `<unknown>` without one. */
export function since(timestamp: unknown, nowMs: number): string {
  const ms = timeMs(timestamp)
  return ms === undefined ? '<unknown>' : humanDuration(nowMs - ms)
}

/** `app=web,tier=front`, sorted by key; `<none>` for an empty map. */
export function labelsText(entries: readonly (readonly [string, string])[]): string {
  if (entries.length === 0) return '<none>'
  return entries
    .toSorted(([a], [b]) => compareUtf8(a, b))
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}

/** A `metav1.LabelSelector` in selector syntax; '' for one that selects everything or is absent, undefined if invalid. */
export function selectorText(selector: unknown): string | undefined {
  if (!isObject(selector)) return ''
  try {
    return labelSelectorFrom(selector as LabelSelectorObject).toString()
  } catch {
    return undefined
  }
}

/** As most kinds print a selector. */
export function selectorCell(selector: unknown): string {
  const printed = selectorText(selector)
  if (printed === undefined) return '<error>'
  return printed === '' ? '<none>' : printed
}

/** `a,b,c + 4 more...`: at most `max` of the list. */
export function withMore(list: readonly string[], max: number, separator = ','): string {
  const shown = list.slice(0, max).join(separator)
  return list.length > max ? `${shown} + ${String(list.length - max)} more...` : shown
}

/** Sorted and each once, as Go's `sets.List`. */
export function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].sort(compareUtf8)
}

/** The addresses of a load balancer's status: IPs, or host names where there is no IP. */
export function loadBalancerAddresses(ingress: readonly JsonObject[]): string[] {
  return distinct(
    ingress.map((point) => text(point, 'ip') || text(point, 'hostname')).filter((address) => address !== ''),
  )
}

/** `intstr.IntOrString` as text; undefined where there is none. */
export function intOrString(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : undefined
}

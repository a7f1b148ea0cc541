/**
 * Reads of parsed objects that survive any shape: a value of another type than expected is as good as absent, and absent
 * strings, numbers and lists are empty, as Go's zero values are.
 */
import { isPossibleTime } from '../calendar.ts'
import type { JsonObject } from './column.ts'

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value at a path of keys that no JavaScript prototype has; undefined where something on the way is no object. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let current = value
  for (const key of path) {
    if (!isObject(current)) return undefined
    current = current[key]
  }
  return current
}

/** Neither absent nor null: what a pointer of Go's that is not nil is in JSON. */
export function has(value: unknown, ...path: readonly string[]): boolean {
  const found = at(value, ...path)
  return found !== undefined && found !== null
}

export function optionalText(value: unknown, ...path: readonly string[]): string | undefined {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : undefined
}

export function text(value: unknown, ...path: readonly string[]): string {
  return optionalText(value, ...path) ?? ''
}

export function optionalInteger(value: unknown, ...path: readonly string[]): number | undefined {
  const found = at(value, ...path)
  return typeof found === 'number' ? found : undefined
}

export function integer(value: unknown, ...path: readonly string[]): number {
  return optionalInteger(value, ...path) ?? 0
}

export function flag(value: unknown, ...path: readonly string[]): boolean {
  return at(value, ...path) === true
}

/** The objects of a list. */
export function items(value: unknown, ...path: readonly string[]): readonly JsonObject[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found.filter(isObject) : []
}

/** The strings of a list. */
export function texts(value: unknown, ...path: readonly string[]): readonly string[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found.filter((item) => typeof item === 'string') : []
}

/** The entries of a map of strings. */
export function textEntries(value: unknown, ...path: readonly string[]): readonly (readonly [string, string])[] {
  const found = at(value, ...path)
  if (!isObject(found)) return []
  return Object.entries(found).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
}

/** How many entries a map or a list has. */
export function size(value: unknown, ...path: readonly string[]): number {
  const found = at(value, ...path)
  if (Array.isArray(found)) return found.length
  return isObject(found) ? Object.keys(found).length : 0
}

/** The first condition of that type. */
export function condition(conditions: readonly JsonObject[], type: string): JsonObject | undefined {
  return conditions.find((candidate) => candidate['type'] === type)
}

export function isTrue(conditions: readonly JsonObject[], type: string): boolean {
  return condition(conditions, type)?.['status'] === 'True'
}

/** Milliseconds since the epoch; undefined for no time, an unreadable or impossible one, and Go's zero time. */
export function timeMs(rfc3339: unknown): number | undefined {
  if (typeof rfc3339 !== 'string' || rfc3339.startsWith('0001-01-01T00:00:00')) return undefined
  const ms = isPossibleTime(rfc3339) ? Date.parse(rfc3339) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

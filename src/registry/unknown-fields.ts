/**
 * What a stored registry holds beyond the fields known here (another version of the program wrote it) stays where it is
 * when the registry is written again.
 */
import { REGISTRY, type Shape } from './schema.ts'

type Json = Record<string, unknown>

/** `next` with the unknown fields of `stored` put back, beside the known ones they stood next to. Changes neither. */
export function keepUnknownFields(next: object, stored: unknown): unknown {
  return keep(next, stored, REGISTRY)
}

function keep(next: unknown, stored: unknown, shape: Shape): unknown {
  if (typeof shape === 'string' || 'map' in shape) return next
  if ('list' in shape) return keepInList(next, stored, shape.list)
  if (!isObject(next) || !isObject(stored)) return next
  const kept = new Map(Object.entries(next))
  for (const [key, value] of Object.entries(stored)) {
    const known = Object.hasOwn(shape.fields, key) ? shape.fields[key] : undefined
    if (known === undefined) kept.set(key, value)
    else if (kept.has(key)) kept.set(key, keep(kept.get(key), value, known))
  }
  return Object.fromEntries(kept)
}

/** Lists are replaced whole: an item stands for the one that was at its place only where the known half is the same. */
function keepInList(next: unknown, stored: unknown, shape: Shape): unknown {
  if (!Array.isArray(next) || !Array.isArray(stored)) return next
  return (next as unknown[]).map((item, i) => {
    const kept = keep(item, stored[i], shape)
    return JSON.stringify(known(stored[i], shape)) === JSON.stringify(known(item, shape)) ? kept : item
  })
}

/** The value's known half, keys in one order. */
function known(value: unknown, shape: Shape): unknown {
  if (typeof shape === 'string' || !isObject(value) || 'map' in shape || 'list' in shape) return value
  const keys = Object.keys(shape.fields).filter((key) => Object.hasOwn(value, key))
  return keys.map((key) => [key, known(value[key], shape.fields[key] ?? 'any')])
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

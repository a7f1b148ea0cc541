/**
 * Values with a schema: which fields they have, how two differ, what merging and removing makes of them.
 * Source: structured-merge-diff typed/{tofieldset,compare,merge,remove}.go; `undefined` here is an absent value there.
 * Types are not checked: values were decoded.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Fields, Shape } from '../schema.ts'
import { FieldSet, FieldSetBuilder, type PathElement } from './field-set.ts'

type Path = readonly PathElement[]
type Json = Readonly<Record<string, unknown>>

/** How a value of this shape is taken apart; a leaf is not. */
type Structure =
  | { readonly as: 'leaf' }
  /** A struct with named fields, or a map with keys. */
  | { readonly as: 'map'; readonly named: Fields['fields']; readonly items: Shape | undefined }
  /** A list whose items have names of their own. */
  | { readonly as: 'list'; readonly items: Shape; readonly key: string | undefined }

const LEAF: Structure = { as: 'leaf' }

function structureOf(shape: Shape): Structure {
  if (typeof shape === 'string') return LEAF
  if ('list' in shape) {
    return shape.by === undefined
      ? LEAF
      : { as: 'list', items: shape.list, key: shape.by === 'value' ? undefined : shape.by }
  }
  if ('map' in shape) return { as: 'map', named: {}, items: shape.map }
  return shape.atomic === true ? LEAF : { as: 'map', named: shape.fields, items: undefined }
}

const isNamed = (named: Fields['fields'], key: string): boolean => Object.hasOwn(named, key)

function shapeAt({ named, items }: Structure & { as: 'map' }, key: string): Shape {
  return (isNamed(named, key) ? named[key] : items) ?? 'any'
}

function mapOf(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
}

function listOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined
}

const isEmpty = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || Object.keys(value).length === 0

function stepOf(item: unknown, key: string | undefined): PathElement {
  return key === undefined ? `v:${JSON.stringify(item)}` : `k:${JSON.stringify({ [key]: mapOf(item)?.[key] ?? null })}`
}

/** Items by their steps; of several with one step the first counts. */
function itemsOf(value: unknown, key: string | undefined): ReadonlyMap<PathElement, unknown> {
  const items = new Map<PathElement, unknown>()
  for (const item of listOf(value) ?? []) {
    const step = stepOf(item, key)
    if (!items.has(step)) items.set(step, item)
  }
  return items
}

/** The fields that a value has, as an applied configuration owns them. */
export function fieldsOf(value: unknown, shape: Shape): FieldSet {
  const builder = new FieldSetBuilder()
  collect(value, shape, [], builder)
  return builder.finish()
}

function collect(value: unknown, shape: Shape, path: Path, into: FieldSetBuilder): void {
  const structure = structureOf(shape)
  switch (structure.as) {
    case 'leaf':
      into.insert(path)
      return
    case 'map':
      for (const [key, item] of Object.entries(mapOf(value) ?? {})) {
        const below = [...path, `f:${key}`]
        collect(item, shapeAt(structure, key), below, into)
        if (item === null || (mapOf(item) !== undefined && isEmpty(item)) || !isNamed(structure.named, key)) {
          into.insert(below)
        }
      }
      return
    case 'list':
      for (const [step, item] of itemsOf(value, structure.key)) {
        collect(item, structure.items, [...path, step], into)
        into.insert([...path, step])
      }
      return
    default:
      structure satisfies never
  }
}

export interface Difference {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

/** What `next` is against `before`. No field is in two of the sets. */
export function differenceOf(before: unknown, next: unknown, shape: Shape): Difference {
  const into = { added: new FieldSetBuilder(), modified: new FieldSetBuilder(), removed: new FieldSetBuilder() }
  compare(before, next, shape, [], into)
  return { added: into.added.finish(), modified: into.modified.finish(), removed: into.removed.finish() }
}

type DifferenceBuilder = Readonly<Record<keyof Difference, FieldSetBuilder>>

function compare(before: unknown, next: unknown, shape: Shape, path: Path, into: DifferenceBuilder): void {
  const structure = structureOf(shape)
  if (before === undefined) into.added.insert(path)
  else if (next === undefined) into.removed.insert(path)
  // What is empty on both sides is compared as it is, so that null and {} stay two things.
  else if (structure.as === 'leaf' || (isEmpty(before) && isEmpty(next))) {
    if (!isDeepStrictEqual(before, next)) into.modified.insert(path)
  }
  if (structure.as === 'map') {
    const [old, now] = [mapOf(before) ?? {}, mapOf(next) ?? {}]
    for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
      compare(own(old, key), own(now, key), shapeAt(structure, key), [...path, `f:${key}`], into)
    }
  } else if (structure.as === 'list') {
    const [old, now] = [itemsOf(before, structure.key), itemsOf(next, structure.key)]
    for (const step of new Set([...old.keys(), ...now.keys()])) {
      compare(old.get(step), now.get(step), structure.items, [...path, step], into)
    }
  }
}

function own(map: Json, key: string): unknown {
  return Object.hasOwn(map, key) ? map[key] : undefined
}

/** `live` with everything that `config` says. */
export function merged(live: unknown, config: unknown, shape: Shape): unknown {
  const structure = structureOf(shape)
  if (config === undefined) return live
  if (structure.as === 'leaf' || (isEmpty(live) && isEmpty(config))) return config
  if (structure.as === 'map') {
    const [old, now] = [mapOf(live) ?? {}, mapOf(config) ?? {}]
    const keys = new Set([...Object.keys(old), ...Object.keys(now)])
    const entries = [...keys].map((key) => [key, merged(own(old, key), own(now, key), shapeAt(structure, key))])
    return Object.fromEntries(entries) as Json
  }
  return mergedItems(itemsOf(live, structure.key), itemsOf(config, structure.key), structure.items)
}

/** In the order of the configuration, where both have an item; those that only the live list has keep their neighbours. */
function mergedItems(
  live: ReadonlyMap<PathElement, unknown>,
  config: ReadonlyMap<PathElement, unknown>,
  shape: Shape,
): unknown[] {
  const result: unknown[] = []
  const [left, right] = [[...live.keys()], [...config.keys()]]
  const shared = right.filter((step) => live.has(step))
  const done = new Set<PathElement>()
  let i = 0
  for (const step of right) {
    for (; i < left.length && left[i] !== step; i++) {
      const own = left[i] ?? ''
      if (!config.has(own)) result.push(live.get(own))
      else if (!done.has(own) && shared[0] === own) break
    }
    if (left[i] === step) i++
    if (shared[0] === step) shared.shift()
    done.add(step)
    result.push(merged(live.get(step), config.get(step), shape))
  }
  for (const own of left.slice(i)) if (!config.has(own)) result.push(live.get(own))
  return result
}

/** The value without these fields; what becomes empty is null. */
export function withoutFields(value: unknown, fields: FieldSet, shape: Shape): unknown {
  const structure = structureOf(shape)
  if (typeof shape === 'string') return value
  if (structure.as === 'leaf' || isEmpty(value)) return null
  if (structure.as === 'map') {
    const entries = Object.entries(mapOf(value) ?? {})
      .filter(([key]) => !fields.members.has(`f:${key}`))
      .map(([key, item]) => {
        const below = fields.below(`f:${key}`)
        return [key, below.empty ? item : withoutFields(item, below, shapeAt(structure, key))]
      })
    return entries.length === 0 ? null : (Object.fromEntries(entries) as Json)
  }
  const items = (listOf(value) ?? [])
    .filter((item) => !fields.members.has(stepOf(item, structure.key)))
    .map((item) => {
      const below = fields.below(stepOf(item, structure.key))
      return below.empty ? item : withoutFields(item, below, structure.items)
    })
  return items.length === 0 ? null : items
}

/** Every named field of a struct that has something below it counts as a field of the set itself. */
export function withNamedFields(fields: FieldSet, shape: Shape): FieldSet {
  const structure = structureOf(shape)
  const members = new Set(fields.members)
  const children = new Map<PathElement, FieldSet>()
  for (const [step, below] of fields.children) {
    const name = step.startsWith('f:') ? step.slice(2) : undefined
    if (structure.as === 'map' && name !== undefined && isNamed(structure.named, name)) members.add(step)
    children.set(step, withNamedFields(below, shapeBelow(structure, name)))
  }
  return new FieldSet(members, children)
}

function shapeBelow(structure: Structure, name: string | undefined): Shape {
  if (structure.as === 'list') return structure.items
  return structure.as === 'map' && name !== undefined ? shapeAt(structure, name) : 'any'
}

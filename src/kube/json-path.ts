/**
 * JSONPath as CustomResourceDefinitions write it for their printer columns: fields (also quoted), indexes and slices,
 * `[*]`, unions, filters `[?(@.a=="b")]`, recursive descent. With or without braces around it. Keys that are missing
 * give no result. Source: client-go util/jsonpath. Left out: `range`/`end`, several actions in one text.
 */
import { parsePath, type PathStep, type PathFilter } from './json-path-parser.ts'

export { JsonPathError } from './json-path-parser.ts'

export interface JsonPath {
  /** All results in order; undefined where the path does not fit the object (an index beyond the end, a filter on what is no list). */
  find(object: unknown): readonly unknown[] | undefined
}

/** Thrown and caught in here: the path does not fit the object. */
class Misfit extends Error {}

/** Throws `JsonPathError` for a malformed path. */
export function parseJsonPath(text: string): JsonPath {
  const steps = parsePath(text)
  return {
    find(object) {
      try {
        return walk([object], steps)
      } catch (error) {
        if (error instanceof Misfit) return undefined
        throw error
      }
    },
  }
}

function walk(start: readonly unknown[], steps: readonly PathStep[]): readonly unknown[] {
  return steps.reduce<readonly unknown[]>(take, start)
}

function take(values: readonly unknown[], step: PathStep): readonly unknown[] {
  switch (step.type) {
    case 'field':
      return values.flatMap((value) => (isMap(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : []))
    case 'wildcard':
      return values.flatMap(children)
    case 'descend':
      return values.flatMap(descend)
    case 'slice':
      return values.flatMap((value) => (isNil(value) ? [] : slice(listOf(value), step)))
    case 'union':
      return step.branches.flatMap((branch) => walk(values, branch))
    case 'filter':
      return values.flatMap((value) => listOf(value).filter((item) => passes(item, step)))
    case 'literal':
      return values.map(() => step.value)
  }
}

function isNil(value: unknown): boolean {
  return value === null || value === undefined
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new Misfit('not a list')
}

function children(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  return isMap(value) ? Object.values(value) : []
}

/** The value itself, if there is anything in it, and everything below it, parents first. */
function descend(value: unknown): unknown[] {
  const found: unknown[] = []
  const ahead = [value]
  while (ahead.length > 0) {
    const next = ahead.pop()
    const below = children(next)
    if (below.length > 0) found.push(next)
    for (const child of below.toReversed()) ahead.push(child)
  }
  return found
}

type Slice = Extract<PathStep, { type: 'slice' }>

function slice(list: readonly unknown[], { from, to, step, single }: Slice): unknown[] {
  const start = from !== undefined && from < 0 ? from + list.length : (from ?? 0)
  let end = single ? (from ?? 0) + 1 : (to ?? list.length)
  if (end < 0 || (single && end === 0)) end += list.length
  if (start === end) return []
  if (start < 0 || start >= list.length || end < 0 || end > list.length || start > end)
    throw new Misfit('out of bounds')
  return list.slice(start, end).filter((_, index) => index % step === 0)
}

function passes(item: unknown, filter: PathFilter): boolean {
  if (filter.operator === 'exists') return existing(item, filter).length > 0
  const left = single(walk([item], filter.left))
  const right = single(walk([item], filter.right))
  return left !== undefined && right !== undefined && compare(left.value, right.value, filter.operator)
}

function existing(item: unknown, filter: PathFilter): readonly unknown[] {
  try {
    return walk([item], filter.left)
  } catch (error) {
    if (error instanceof Misfit) return []
    throw error
  }
}

function single(values: readonly unknown[]): { value: unknown } | undefined {
  if (values.length > 1) throw new Misfit('more than one value to compare')
  return values.length === 0 ? undefined : { value: values[0] }
}

/** Whole numbers and fractions are different kinds, as in Go, and different kinds do not compare. */
function kindOf(value: unknown): string {
  if (typeof value === 'bigint') return 'integer'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'fraction'
  return typeof value
}

function compare(left: unknown, right: unknown, operator: PathFilter['operator']): boolean {
  const kind = kindOf(left)
  const ordered = kind === 'string' || kind === 'integer' || kind === 'fraction'
  if (kind !== kindOf(right) || !(ordered || kind === 'boolean')) throw new Misfit('incomparable')
  if (operator === '==') return left === right
  if (operator === '!=') return left !== right
  if (!ordered) throw new Misfit('no order')
  const [a, b] = [left as string | number, right as string | number]
  switch (operator) {
    case '<':
      return a < b
    case '<=':
      return a <= b
    case '>':
      return a > b
    case '>=':
      return a >= b
    default:
      return false
  }
}

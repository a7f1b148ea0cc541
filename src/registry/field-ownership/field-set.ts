/**
 * Sets of fields of an object, as `managedFields` write them (FieldsV1). Immutable.
 * Source: structured-merge-diff fieldpath/set.go and serialize.go. Left out: list indexes (`i:`), which no schema here uses.
 */
import { compareUtf8 } from '../../util/bytes.ts'

/**
 * One step of a path as FieldsV1 spells it: `f:NAME` (a field or a key of a map), `v:JSON` (an item of a set), `k:JSON`
 * (an item of a list that is a map, by its key fields).
 */
export type PathElement = string

export class FieldSet {
  static readonly EMPTY = new FieldSet(new Set(), new Map())

  /** Paths of one step that are in the set. */
  readonly members: ReadonlySet<PathElement>
  /** What is in the set below a step; never empty sets. */
  readonly children: ReadonlyMap<PathElement, FieldSet>

  constructor(members: ReadonlySet<PathElement>, children: ReadonlyMap<PathElement, FieldSet>) {
    this.members = members
    this.children = children
  }

  static of(...paths: readonly (readonly PathElement[])[]): FieldSet {
    const builder = new FieldSetBuilder()
    for (const path of paths) builder.insert(path)
    return builder.finish()
  }

  get empty(): boolean {
    return this.members.size === 0 && this.children.size === 0
  }

  below(step: PathElement): FieldSet {
    return this.children.get(step) ?? FieldSet.EMPTY
  }

  has(path: readonly PathElement[]): boolean {
    const [step, ...rest] = path
    if (step === undefined) return false
    return rest.length === 0 ? this.members.has(step) : this.below(step).has(rest)
  }

  union(other: FieldSet): FieldSet {
    const steps = new Set([...this.children.keys(), ...other.children.keys()])
    return assemble(new Set([...this.members, ...other.members]), steps, (step) =>
      this.below(step).union(other.below(step)),
    )
  }

  intersection(other: FieldSet): FieldSet {
    return assemble(
      only(this.members, (step) => other.members.has(step)),
      this.children.keys(),
      (step) => this.below(step).intersection(other.below(step)),
    )
  }

  /** Without the very paths of the other; what lies below them stays. */
  difference(other: FieldSet): FieldSet {
    return assemble(
      only(this.members, (step) => !other.members.has(step)),
      this.children.keys(),
      (step) => this.below(step).difference(other.below(step)),
    )
  }

  /** Without the paths of the other and all that lies below them. */
  without(other: FieldSet): FieldSet {
    const steps = [...this.children.keys()].filter((step) => !other.members.has(step))
    return assemble(
      only(this.members, (step) => !other.members.has(step)),
      steps,
      (step) => this.below(step).without(other.below(step)),
    )
  }

  /** All paths, in the order that texts show them. */
  *paths(): Generator<readonly PathElement[]> {
    for (const step of [...this.members].sort(compareSteps)) yield [step]
    for (const step of [...this.children.keys()].sort(compareSteps)) {
      for (const rest of this.below(step).paths()) yield [step, ...rest]
    }
  }

  /** FieldsV1: `{"f:spec":{".":{},"f:x":{}}}`. */
  toFieldsV1(): object {
    const steps = [...new Set([...this.members, ...this.children.keys()])].sort(compareSteps)
    const entries = steps.map((step): [string, object] => {
      const below = this.below(step)
      const self = this.members.has(step) && !below.empty ? { '.': {} } : {}
      return [step, { ...self, ...below.toFieldsV1() }]
    })
    return Object.fromEntries(entries)
  }

  /** Throws `TypeError` for what is no FieldsV1. */
  static fromFieldsV1(fields: unknown): FieldSet {
    const builder = new FieldSetBuilder()
    readFields(fields, [], builder)
    return builder.finish()
  }
}

function readFields(fields: unknown, path: readonly PathElement[], builder: FieldSetBuilder): void {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    throw new TypeError('fields must be objects')
  const entries = Object.entries(fields)
  if (entries.length === 0 && path.length > 0) builder.insert(path)
  for (const [step, below] of entries) {
    if (step === '.') builder.insert(path)
    else if (/^[fvki]:/.test(step)) readFields(below, [...path, step], builder)
    else throw new TypeError(`unknown step ${JSON.stringify(step)}`)
  }
}

function only(steps: ReadonlySet<PathElement>, condition: (step: PathElement) => boolean): Set<PathElement> {
  return new Set([...steps].filter(condition))
}

function assemble(
  members: ReadonlySet<PathElement>,
  steps: Iterable<PathElement>,
  below: (step: PathElement) => FieldSet,
): FieldSet {
  const children = new Map<PathElement, FieldSet>()
  for (const step of steps) {
    const child = below(step)
    if (!child.empty) children.set(step, child)
  }
  return new FieldSet(members, children)
}

/** Names before keys before values. */
const RANKS = 'fkvi'

function compareSteps(a: PathElement, b: PathElement): number {
  return RANKS.indexOf(a.charAt(0)) - RANKS.indexOf(b.charAt(0)) || compareUtf8(a, b)
}

/** Collects paths. */
export class FieldSetBuilder {
  readonly #members = new Set<PathElement>()
  readonly #children = new Map<PathElement, FieldSetBuilder>()

  /** The empty path is in no set. */
  insert([step, ...rest]: readonly PathElement[]): void {
    if (step === undefined) return
    if (rest.length === 0) {
      this.#members.add(step)
      return
    }
    const child = this.#children.get(step) ?? new FieldSetBuilder()
    this.#children.set(step, child)
    child.insert(rest)
  }

  finish(): FieldSet {
    return new FieldSet(this.#members, new Map([...this.#children].map(([step, child]) => [step, child.finish()])))
  }
}

/** As texts show a path: `.metadata.labels.app`, `.metadata.finalizers[="a.b/c"]`, `.items[name="x"]`. */
export function pathText(path: readonly PathElement[]): string {
  return path.map(stepText).join('')
}

function stepText(step: PathElement): string {
  const rest = step.slice(2)
  if (step.startsWith('f:')) return `.${rest}`
  if (step.startsWith('v:')) return `[=${rest}]`
  const key = JSON.parse(rest) as Record<string, unknown>
  const fields = Object.entries(key).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return `[${fields.join(',')}]`
}

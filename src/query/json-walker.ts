/** Walks an object's JSON leaf by leaf, with the path of each. Remembers paths, which objects of one kind share. */
import type { JsonObject } from '../kube/columns/column.ts'
import { rulesOf, type PathRules } from './index-rules.ts'
import { keyedPath, spelledOut, type PathSpelling } from './term.ts'

export interface LeafPath {
  readonly path: string
  /** As terms begin with it. */
  readonly spelled: string
}

export interface Leaves {
  /** Each value of a path is told once, however often a list has it. */
  text(path: LeafPath, text: string): void
  number(path: LeafPath, text: string): void
  boolean(path: LeafPath, text: string): void
  /** An empty object or list, or a value that may not be shown: it exists. */
  empty(path: LeafPath): void
  image(text: string): void
  node(text: string): void
  ip(text: string): void
  /** Free text. */
  words(text: string): void
}

interface PathNode extends LeafPath {
  /** The keys as they are, which rules go by. */
  readonly keys: string
  readonly rules: PathRules
  readonly children: Map<string, PathNode>
  /** What was told of it in walk number `walk`. */
  told: string[] | Set<string>
  walk: number
}

/** Objects nest about 20 deep; what is deeper is not indexed. */
export const MAX_DEPTH = 64
/** Keys can be anything (ConfigMaps, selectors); forgetting all paths now and then bounds memory (about 300 B each). */
const MAX_PATHS = 20_000

/** So many texts are sooner looked through than hashed. */
const FEW = 16

/** Larger integers are floating-point numbers to Go, too. */
const MAX_INT64 = 2 ** 63

export class JsonWalker {
  readonly #spell: PathSpelling
  readonly #roots = new Map<string, PathNode>()
  #paths = 0
  #group = ''
  #kind = ''
  #leaves!: Leaves
  #exact = true
  /** Lists of several that the walk is inside of: only there can a path come again. */
  #lists = 0
  #walks = 0

  constructor(spell: PathSpelling = spelledOut) {
    this.#spell = spell
  }

  /** Reports every leaf of an object of that kind. False where it met an integer beyond 2^53, which has lost digits. */
  walk(object: JsonObject, { group, kind }: { group: string; kind: string }, leaves: Leaves): boolean {
    this.#group = group
    this.#kind = kind
    this.#leaves = leaves
    this.#exact = true
    this.#lists = 0
    this.#walks++
    this.#object(object, this.#root(`${group}/${kind}`), 0)
    return this.#exact
  }

  #value(value: unknown, node: PathNode, depth: number): void {
    switch (typeof value) {
      case 'string':
        return this.#string(value, node)
      case 'number':
        if (Number.isInteger(value) && !Number.isSafeInteger(value)) this.#exact &&= Math.abs(value) > MAX_INT64
        return this.#number(String(value), node)
      case 'bigint':
        return this.#number(value.toString(), node)
      case 'boolean':
        return this.#boolean(value ? 'true' : 'false', node)
      case 'object':
        if (value === null || depth > MAX_DEPTH) return // unset
        if (Array.isArray(value)) return this.#list(value, node, depth)
        return this.#object(value, node, depth)
      default: // JSON has nothing else
    }
  }

  #string(value: string, node: PathNode): void {
    if (this.#isTold(node, value)) return
    const { rules } = node
    this.#leaves.text(node, value)
    if (rules.text) this.#leaves.words(value)
    if (rules.image) this.#leaves.image(value)
    if (rules.node) this.#leaves.node(value)
    if (rules.ip) this.#leaves.ip(value)
  }

  #number(text: string, node: PathNode): void {
    if (!this.#isTold(node, text)) this.#leaves.number(node, text)
  }

  #boolean(text: string, node: PathNode): void {
    if (!this.#isTold(node, text)) this.#leaves.boolean(node, text)
  }

  #isTold(node: PathNode, text: string): boolean {
    if (this.#lists === 0) return false
    if (node.walk !== this.#walks) {
      node.walk = this.#walks
      node.told = [text]
      return false
    }
    if (Array.isArray(node.told)) {
      if (node.told.includes(text)) return true
      if (node.told.push(text) > FEW) node.told = new Set(node.told)
      return false
    }
    if (node.told.has(text)) return true
    node.told.add(text)
    return false
  }

  #list(values: readonly unknown[], node: PathNode, depth: number): void {
    if (values.length === 0) return this.#leaves.empty(node)
    const several = values.length > 1 ? 1 : 0
    this.#lists += several
    for (const value of values) this.#value(value, node, depth + 1)
    this.#lists -= several
  }

  #object(object: object, node: PathNode, depth: number): void {
    let empty = true
    for (const key of Object.keys(object)) {
      empty = false
      const child = this.#child(node, key)
      if (child.rules.skip) continue
      if (node.rules.textKeys) this.#leaves.words(key)
      if (node.rules.keysOnly) this.#leaves.empty(child)
      else this.#value((object as Record<string, unknown>)[key], child, depth + 1)
    }
    if (empty && depth > 0) this.#leaves.empty(node)
  }

  #root(kind: string): PathNode {
    if (this.#paths > MAX_PATHS) {
      this.#roots.clear()
      this.#paths = 0
    }
    let root = this.#roots.get(kind)
    if (root === undefined) this.#roots.set(kind, (root = this.#node('', '')))
    return root
  }

  #child(parent: PathNode, key: string): PathNode {
    let child = parent.children.get(key)
    if (child === undefined)
      parent.children.set(key, (child = this.#node(`${parent.keys}.${key}`, keyedPath(parent.path, key))))
    return child
  }

  #node(keys: string, path: string): PathNode {
    this.#paths++
    const rules = rulesOf(keys, this.#group, this.#kind)
    return { keys, path, spelled: rules.skip ? '' : this.#spell(path), rules, children: new Map(), told: [], walk: 0 }
  }
}

/** Walks an object's JSON leaf by leaf, with the path of each. Remembers paths, which objects of one kind share. */
import type { JsonObject } from '../kube/columns/column.ts'
import { rulesOf, type PathRules } from './index-rules.ts'
import { exactValue } from './tokens.ts'

export interface Leaves {
  value(path: string, text: string, type: 'string' | 'number' | 'boolean'): void
  /** An empty object or list, or a value that may not be shown: it exists. */
  empty(path: string): void
  image(text: string): void
  node(text: string): void
  ip(text: string): void
  /** Free text. */
  words(text: string): void
}

interface PathNode {
  readonly path: string
  readonly rules: PathRules
  readonly children: Map<string, PathNode>
}

/** Objects nest about 20 deep; what is deeper is not indexed. */
const MAX_DEPTH = 64
/** Keys can be anything (ConfigMaps, selectors); forgetting all paths now and then bounds memory (about 300 B each). */
const MAX_PATHS = 20_000

export class JsonWalker {
  readonly #roots = new Map<string, PathNode>()
  #paths = 0
  #group = ''
  #kind = ''
  #leaves!: Leaves

  /** Reports every leaf of an object of that kind. */
  walk(object: JsonObject, { group, kind }: { group: string; kind: string }, leaves: Leaves): void {
    this.#group = group
    this.#kind = kind
    this.#leaves = leaves
    this.#object(object, this.#root(`${group}/${kind}`), 0)
  }

  #value(value: unknown, node: PathNode, depth: number): void {
    switch (typeof value) {
      case 'string':
        return this.#string(value, node)
      case 'number':
      case 'bigint':
        return this.#leaves.value(node.path, String(value), 'number')
      case 'boolean':
        return this.#leaves.value(node.path, String(value), 'boolean')
      case 'object':
        if (value === null || depth > MAX_DEPTH) return // unset
        if (Array.isArray(value)) return this.#list(value, node, depth)
        return this.#object(value, node, depth)
      default: // JSON has nothing else
    }
  }

  #string(value: string, { path, rules }: PathNode): void {
    this.#leaves.value(path, value, 'string')
    if (rules.text) this.#leaves.words(value)
    if (rules.image) this.#leaves.image(value)
    if (rules.node) this.#leaves.node(value)
    if (rules.ip) this.#leaves.ip(value)
  }

  #list(values: readonly unknown[], node: PathNode, depth: number): void {
    if (values.length === 0) return this.#leaves.empty(node.path)
    for (const value of values) this.#value(value, node, depth + 1)
  }

  #object(object: object, node: PathNode, depth: number): void {
    let empty = true
    for (const key of Object.keys(object)) {
      empty = false
      const child = this.#child(node, key)
      if (child.rules.skip) continue
      if (node.rules.textKeys) this.#leaves.words(key)
      if (node.rules.keysOnly) this.#leaves.empty(child.path)
      else this.#value((object as Record<string, unknown>)[key], child, depth + 1)
    }
    if (empty && depth > 0) this.#leaves.empty(node.path)
  }

  #root(kind: string): PathNode {
    if (this.#paths > MAX_PATHS) {
      this.#roots.clear()
      this.#paths = 0
    }
    let root = this.#roots.get(kind)
    if (root === undefined) this.#roots.set(kind, (root = this.#node('')))
    return root
  }

  #child(parent: PathNode, key: string): PathNode {
    let child = parent.children.get(key)
    if (child === undefined) parent.children.set(key, (child = this.#node(`${parent.path}.${exactValue(key)}`)))
    return child
  }

  #node(path: string): PathNode {
    this.#paths++
    return { path, rules: rulesOf(path, this.#group, this.#kind), children: new Map() }
  }
}

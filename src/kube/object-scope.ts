/**
 * Which objects of one resource in one cluster somebody may act upon by one verb: all, none, whole namespaces, single names.
 * Small whatever the cluster holds, so that a list, a count or a facet is filtered without a question for each object.
 */

export interface ObjectScopeParts {
  /** Whole namespaces. */
  readonly namespaces?: ReadonlySet<string>
  /** Single names by namespace. */
  readonly names?: ReadonlyMap<string, ReadonlySet<string>>
  /** Single names in every namespace, and of objects that have none. */
  readonly anywhere?: ReadonlySet<string>
}

const NO_NAMES: ReadonlySet<string> = new Set()

export class ObjectScope {
  /** Every object, whatever its namespace or name. */
  readonly everything: boolean
  readonly namespaces: ReadonlySet<string>
  readonly names: ReadonlyMap<string, ReadonlySet<string>>
  readonly anywhere: ReadonlySet<string>

  constructor(parts: ObjectScopeParts | 'everything') {
    const { namespaces, names, anywhere } = parts === 'everything' ? {} : parts
    this.everything = parts === 'everything'
    this.namespaces = namespaces ?? NO_NAMES
    this.names = names ?? new Map()
    this.anywhere = anywhere ?? NO_NAMES
  }

  get nothing(): boolean {
    return !this.everything && this.namespaces.size === 0 && this.names.size === 0 && this.anywhere.size === 0
  }

  /**
   * Whether a request of these attributes is allowed. Empty means that the request has none: a list of all namespaces, a
   * list without a name. A grant of single names allows no list but one of such a name, unless the empty name is among them.
   */
  allows(namespace: string, name: string): boolean {
    if (this.everything || this.anywhere.has(name)) return true
    return namespace !== '' && (this.namespaces.has(namespace) || this.names.get(namespace)?.has(name) === true)
  }

  /** Whether anything can be in it of what a request is about; empty: any namespace, any name. */
  reaches(namespace: string, name: string): boolean {
    const any = (names: ReadonlySet<string>): boolean => (name === '' ? names.size > 0 : names.has(name))
    if (this.allows(namespace, name) || any(this.anywhere)) return true
    if (namespace !== '') return any(this.names.get(namespace) ?? NO_NAMES)
    return this.namespaces.size > 0 || [...this.names.values()].some(any)
  }

  /**
   * The objects that lists within this scope can show: a grant of the empty name is one of lists without a name, which
   * show everything.
   */
  get shown(): ObjectScope {
    if (this.anywhere.has('')) return EVERYTHING
    const whole = [...this.names].filter(([, names]) => names.has('')).map(([namespace]) => namespace)
    if (whole.length === 0) return this
    const names = new Map([...this.names].filter(([namespace]) => !whole.includes(namespace)))
    return new ObjectScope({ namespaces: new Set([...this.namespaces, ...whole]), names, anywhere: this.anywhere })
  }

  /** What is left for objects that have no namespace: grants within namespaces do not reach them. */
  get withoutNamespaces(): ObjectScope {
    return this.everything ? EVERYTHING : new ObjectScope({ anywhere: this.anywhere })
  }

  /** How many namespaces and names it holds: what it costs to keep. */
  get size(): number {
    let size = this.namespaces.size + this.anywhere.size
    for (const names of this.names.values()) size += 1 + names.size
    return size
  }
}

export const EVERYTHING = new ObjectScope('everything')
export const NOTHING = new ObjectScope({})

/** Adds grants up; what a wider one covers is left out. */
export class ObjectScopeBuilder {
  #everything = false
  readonly #namespaces = new Set<string>()
  readonly #names = new Map<string, Set<string>>()
  readonly #anywhere = new Set<string>()

  get everything(): boolean {
    return this.#everything
  }

  /** `namespace` empty: everywhere. Without names: all of them. */
  grant(namespace: string, names: readonly string[]): void {
    if (names.length === 0) {
      if (namespace === '') this.#everything = true
      else this.#namespaces.add(namespace)
      return
    }
    const granted = namespace === '' ? this.#anywhere : this.#namesIn(namespace)
    for (const name of names) granted.add(name)
  }

  build(): ObjectScope {
    if (this.#everything) return EVERYTHING
    for (const namespace of this.#namespaces) this.#names.delete(namespace)
    const scope = new ObjectScope({ namespaces: this.#namespaces, names: this.#names, anywhere: this.#anywhere })
    return scope.nothing ? NOTHING : scope
  }

  #namesIn(namespace: string): Set<string> {
    let names = this.#names.get(namespace)
    if (names === undefined) this.#names.set(namespace, (names = new Set()))
    return names
  }
}

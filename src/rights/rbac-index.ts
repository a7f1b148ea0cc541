/** One member's roles and bindings, found by who they are for. */
import type { Fields } from '../fleet/fields.ts'
import { bindingOf, groupKey, rulesOf, userKey, type Binding, type PolicyRule } from './policy.ts'

export const ROLE_KINDS = ['roles', 'clusterroles'] as const
export const BINDING_KINDS = ['rolebindings', 'clusterrolebindings'] as const
/** The resources of rbac.authorization.k8s.io. */
export const RBAC_KINDS = [...ROLE_KINDS, ...BINDING_KINDS] as const
export type RbacKind = (typeof RBAC_KINDS)[number]

/** What is kept of an object. */
export type RbacEntry = readonly PolicyRule[] | Binding

const NO_RULES: readonly PolicyRule[] = []

/** Names remembered so that equal ones are kept once; beyond that they are learnt anew. */
const MAX_INTERNED = 50_000

export class RbacIndex {
  readonly #roles = new Map<RbacKind, Map<string, readonly PolicyRule[]>>()
  readonly #bindings = new Map<RbacKind, Map<string, Binding>>()
  readonly #bySubject = new Map<string, Set<Binding>>()
  /** Names come up again and again, and each parsed object would bring its own copy of them. */
  readonly #interned = new Map<string, string>()

  readonly #intern = (text: string): string => {
    const known = this.#interned.get(text)
    if (known !== undefined) return known
    if (this.#interned.size >= MAX_INTERNED) this.#interned.clear()
    this.#interned.set(text, text)
    return text
  }

  /** Objects kept. */
  get size(): number {
    let size = 0
    for (const objects of [...this.#roles.values(), ...this.#bindings.values()]) size += objects.size
    return size
  }

  parse(kind: RbacKind, object: Fields): RbacEntry {
    return isBindingKind(kind) ? bindingOf(object, this.#intern) : rulesOf(object, this.#intern)
  }

  /** `key` as in `roleKey`. */
  put(kind: RbacKind, key: string, entry: RbacEntry): void {
    this.remove(kind, key)
    if (isBinding(entry)) {
      mapOf(this.#bindings, kind).set(key, entry)
      this.#enlist(entry)
    } else mapOf(this.#roles, kind).set(key, entry)
  }

  remove(kind: RbacKind, key: string): void {
    this.#roles.get(kind)?.delete(key)
    const binding = this.#bindings.get(kind)?.get(key)
    if (binding === undefined) return
    this.#bindings.get(kind)?.delete(key)
    this.#strike(binding)
  }

  /** Takes these for everything there is of the kind. */
  replace(kind: RbacKind, entries: ReadonlyMap<string, RbacEntry>): void {
    for (const binding of this.#bindings.get(kind)?.values() ?? []) this.#strike(binding)
    this.#bindings.delete(kind)
    this.#roles.delete(kind)
    for (const [key, entry] of entries) this.put(kind, key, entry)
  }

  *bindingsOf({ name, groups }: { readonly name: string; readonly groups: readonly string[] }): Generator<Binding> {
    yield* this.#bySubject.get(userKey(name)) ?? []
    for (const group of groups) yield* this.#bySubject.get(groupKey(group)) ?? []
  }

  /** None where the role does not exist. */
  rulesOf({ role }: Binding): readonly PolicyRule[] {
    if (role === undefined) return NO_RULES
    const kind = role.startsWith('/') ? 'clusterroles' : 'roles'
    return this.#roles.get(kind)?.get(role) ?? NO_RULES
  }

  #enlist(binding: Binding): void {
    for (const subject of binding.subjects) {
      const bindings = this.#bySubject.get(subject)
      if (bindings === undefined) this.#bySubject.set(subject, new Set([binding]))
      else bindings.add(binding)
    }
  }

  #strike(binding: Binding): void {
    for (const subject of binding.subjects) {
      const bindings = this.#bySubject.get(subject)
      bindings?.delete(binding)
      if (bindings?.size === 0) this.#bySubject.delete(subject)
    }
  }
}

function isBindingKind(kind: RbacKind): boolean {
  return (BINDING_KINDS as readonly string[]).includes(kind)
}

function isBinding(entry: RbacEntry): entry is Binding {
  return 'subjects' in entry
}

function mapOf<V>(maps: Map<RbacKind, Map<string, V>>, kind: RbacKind): Map<string, V> {
  let map = maps.get(kind)
  if (map === undefined) maps.set(kind, (map = new Map()))
  return map
}

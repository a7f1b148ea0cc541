/** What registries together want of one resource. */
import { groupResourceKey } from '../kube/group-version.ts'
import type { ClusterName } from '../kube/names.ts'
import { compareUtf8 } from '../util/bytes.ts'
import type { Wish } from './resolve-selector.ts'

export interface Scope {
  /** Undefined: all. */
  readonly namespaces: ReadonlySet<string> | undefined
  readonly registries: readonly string[]
  /** The namespaces that each of them asks for; undefined: all. */
  readonly claims: ReadonlyMap<string, ReadonlySet<string> | undefined>
}

interface Claim {
  readonly registry: string
  /** Undefined: all. */
  readonly namespace: string | undefined
  readonly clusters: ReadonlySet<ClusterName>
}

export class Wanted {
  readonly group: string
  readonly resource: string
  readonly kind: string
  readonly namespaced: boolean
  /** `groupResourceKey`. */
  readonly key: string
  readonly #claims: Claim[] = []
  readonly #named: { readonly version: string; readonly registry: string }[] = []

  constructor({ group, resource, kind, namespaced }: Wish) {
    this.group = group
    this.resource = resource
    this.kind = kind
    this.namespaced = namespaced
    this.key = groupResourceKey({ group, resource })
  }

  /** `namespace` undefined or empty: all of them, as always for what lies in none. */
  add(registry: string, wish: Wish, namespace: string | undefined, clusters: ReadonlySet<ClusterName>): void {
    if (wish.version !== undefined) this.#named.push({ version: wish.version, registry })
    const all = !this.namespaced || namespace === undefined || namespace === ''
    this.#claims.push({ registry, namespace: all ? undefined : namespace, clusters })
  }

  /** Versions that registries name, each with who names it. Empty where only wildcards ask. */
  get namedBy(): readonly { readonly version: string; readonly registry: string }[] {
    return this.#named
  }

  wantedOf(cluster: ClusterName): boolean {
    return this.#claims.some(({ clusters }) => clusters.has(cluster))
  }

  /** Undefined where nobody wants it of this cluster. */
  scopeOf(cluster: ClusterName): Scope | undefined {
    const claims = this.#claims.filter(({ clusters }) => clusters.has(cluster))
    const [first, second] = claims
    if (first === undefined) return undefined
    if (second === undefined) {
      const namespaces = only(first.namespace)
      return { namespaces, registries: [first.registry], claims: new Map([[first.registry, namespaces]]) }
    }
    const namespaces = new Set<string>()
    for (const { namespace } of claims) if (namespace !== undefined) namespaces.add(namespace)
    return {
      namespaces: claims.some(({ namespace }) => namespace === undefined) ? undefined : new Set(sorted(namespaces)),
      registries: sorted(new Set(claims.map(({ registry }) => registry))),
      claims: byRegistry(claims),
    }
  }
}

function byRegistry(claims: readonly Claim[]): Map<string, ReadonlySet<string> | undefined> {
  const found = new Map<string, Set<string> | undefined>()
  for (const { registry, namespace } of claims) {
    if (namespace === undefined) found.set(registry, undefined)
    else if (!found.has(registry)) found.set(registry, new Set([namespace]))
    else found.get(registry)?.add(namespace)
  }
  return found
}

function only(namespace: string | undefined): ReadonlySet<string> | undefined {
  return namespace === undefined ? undefined : new Set([namespace])
}

function sorted(names: ReadonlySet<string>): string[] {
  return [...names].sort(compareUtf8)
}

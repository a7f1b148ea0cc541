/** What registries together want of one resource. */
import type { ClusterName } from '../kube/names.ts'
import { compareUtf8 } from '../util/bytes.ts'
import type { PlanMember } from './plan.ts'
import type { Wish } from './resolve-selector.ts'

export interface Scope {
  /** Undefined: all. */
  readonly namespaces: ReadonlySet<string> | undefined
  readonly registries: readonly string[]
}

interface Claim {
  readonly registry: string
  readonly namespace: string | undefined
}

export class Wanted {
  readonly group: string
  readonly resource: string
  readonly kind: string
  readonly namespaced: boolean
  readonly #claims = new Map<ClusterName, Claim[]>()
  readonly #named: { readonly version: string; readonly registry: string }[] = []

  constructor({ group, resource, kind, namespaced }: Wish) {
    this.group = group
    this.resource = resource
    this.kind = kind
    this.namespaced = namespaced
  }

  /** `namespace` undefined or empty: all of them, as always for what lies in none. */
  add(registry: string, wish: Wish, namespace: string | undefined, members: readonly PlanMember[]): void {
    if (wish.version !== undefined) this.#named.push({ version: wish.version, registry })
    const all = !this.namespaced || namespace === undefined || namespace === ''
    for (const { facts } of members) {
      const claims = this.#claims.get(facts.name) ?? []
      claims.push({ registry, namespace: all ? undefined : namespace })
      this.#claims.set(facts.name, claims)
    }
  }

  /** Versions that registries name, each with who names it. Empty where only wildcards ask. */
  get namedBy(): readonly { readonly version: string; readonly registry: string }[] {
    return this.#named
  }

  wantedOf(cluster: ClusterName): boolean {
    return this.#claims.has(cluster)
  }

  /** Undefined where nobody wants it of this cluster. */
  scopeOf(cluster: ClusterName): Scope | undefined {
    const claims = this.#claims.get(cluster)
    if (claims === undefined) return undefined
    const namespaces = new Set<string>()
    for (const { namespace } of claims) if (namespace !== undefined) namespaces.add(namespace)
    return {
      namespaces: claims.some(({ namespace }) => namespace === undefined) ? undefined : sorted(namespaces),
      registries: [...sorted(new Set(claims.map(({ registry }) => registry)))],
    }
  }
}

function sorted(names: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...names].sort(compareUtf8))
}

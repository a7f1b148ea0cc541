/** Cached objects, one by one or by their labels, with the caller's rights applied to each. */
import type { CachedObject, CacheReader, ResourceReader } from '../cache/reader.ts'
import type { GroupResource } from '../kube/group-version.ts'
import type { LabelSelector } from '../kube/label-selector.ts'
import type { ClusterName } from '../kube/names.ts'
import type { VisibleDocuments, VisibleResource } from '../query/search-request.ts'

export interface ObjectPlace extends GroupResource {
  readonly cluster: string
  readonly namespace: string
  readonly name: string
}

/** Whether the caller may see what stands there. */
export function visibilityOf(documents: VisibleDocuments | undefined): (place: ObjectPlace) => boolean {
  if (documents === undefined) return () => true
  const parts = documents.parts.map((part) => new Map(part.map((each) => [keyOf(each), new Scope(each)])))
  return (place) => {
    const part = documents.clusters.get(place.cluster)
    return part !== undefined && parts[part]?.get(keyOf(place))?.has(place) === true
  }
}

function keyOf({ group, resource }: GroupResource): string {
  return `${group}/${resource}`
}

class Scope {
  readonly #everything: boolean
  readonly #namespaces: ReadonlySet<string>
  readonly #names: ReadonlySet<string>

  constructor({ everything, namespaces, names }: VisibleResource) {
    this.#everything = everything
    this.#namespaces = new Set(namespaces)
    this.#names = new Set(names.map(({ namespace, name }) => `${namespace ?? '*'}/${name}`))
  }

  has({ namespace, name }: ObjectPlace): boolean {
    if (this.#everything || this.#namespaces.has(namespace)) return true
    return this.#names.has(`${namespace}/${name}`) || this.#names.has(`*/${name}`)
  }
}

export class VisibleObjects {
  readonly #cache: CacheReader
  readonly #sees: (place: ObjectPlace) => boolean

  constructor(cache: CacheReader, documents: VisibleDocuments | undefined) {
    this.#cache = cache
    this.#sees = visibilityOf(documents)
  }

  resources(): readonly ResourceReader[] {
    return this.#cache.resources()
  }

  sees(place: ObjectPlace): boolean {
    return this.#sees(place)
  }

  /** Undefined where it is not there, or not for the caller: nobody can tell which. */
  get(place: ObjectPlace): CachedObject | undefined {
    if (!this.#sees(place)) return undefined
    return this.#cache.resource(place)?.get(place.cluster as ClusterName, place.namespace, place.name)
  }

  /** At most so many that the caller may see, of one cluster. */
  list(
    { group, resource, cluster }: GroupResource & { readonly cluster: string },
    filter: { readonly namespace?: string; readonly labels?: LabelSelector },
    limit: number,
  ): CachedObject[] {
    const snapshot = this.#cache
      .resource({ group, resource })
      ?.snapshot({ clusters: new Set([cluster as ClusterName]), ...filter })
    const found: CachedObject[] = []
    for (let i = 0; i < (snapshot?.length ?? 0) && found.length < limit; i++) {
      const object = snapshot?.at(i)
      if (object === undefined) break
      if (this.#sees({ group, resource, cluster, namespace: object.namespace, name: object.name })) found.push(object)
    }
    return found
  }
}

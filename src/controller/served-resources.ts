/** What one cluster serves that can be cached (listable and watchable), indexed; made once for each discovery result. */
import type { DiscoveredResource } from '../fleet/discovery/discovered.ts'
import { groupResourceKey } from '../kube/group-version.ts'

/** One version of one resource. */
export type ServedResource = Pick<
  DiscoveredResource,
  'group' | 'version' | 'preferred' | 'kind' | 'resource' | 'namespaced'
>

const NONE: readonly ServedResource[] = []

export class ServedResources {
  readonly #byResource = new Map<string, ServedResource[]>()
  readonly #byKind = new Map<string, ServedResource[]>()
  readonly #unwatchable = new Set<string>()

  constructor(resources: readonly DiscoveredResource[]) {
    for (const resource of resources) {
      if (!isWatchable(resource)) {
        this.#unwatchable.add(kindKey(resource.group, resource.kind))
        continue
      }
      append(this.#byResource, groupResourceKey(resource), resource)
      append(this.#byKind, kindKey(resource.group, resource.kind), resource)
    }
  }

  /** By `groupResourceKey`: all versions of a resource, the preferred first where the cluster lists it so. */
  versions(key: string): readonly ServedResource[] {
    return this.#byResource.get(key) ?? NONE
  }

  ofKind(group: string, kind: string): readonly ServedResource[] {
    return this.#byKind.get(kindKey(group, kind)) ?? []
  }

  /** The kind is there, but cannot be listed or watched. */
  isUnwatchable(group: string, kind: string): boolean {
    return this.#unwatchable.has(kindKey(group, kind)) && this.ofKind(group, kind).length === 0
  }

  all(): IterableIterator<readonly ServedResource[]> {
    return this.#byResource.values()
  }
}

const indexes = new WeakMap<readonly DiscoveredResource[], ServedResources>()

export function servedBy(resources: readonly DiscoveredResource[]): ServedResources {
  let index = indexes.get(resources)
  if (index === undefined) {
    index = new ServedResources(resources)
    indexes.set(resources, index)
  }
  return index
}

export function kindKey(group: string, kind: string): string {
  return `${group}/${kind}`
}

function isWatchable({ verbs }: DiscoveredResource): boolean {
  return verbs.includes('list') && verbs.includes('watch')
}

function append<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}

/**
 * What any cluster, or the control plane, ever served since this process started. Decides whether a resource that is not
 * cached is answered as empty or as unknown, and gives plural names of kinds that no cluster serves just now.
 */
import type { DiscoveredResource } from '../fleet/discovery/discovered.ts'
import { groupResourceKey, type GroupVersionResource } from '../kube/group-version.ts'
import { compareVersionPriority } from '../kube/version-priority.ts'
import { kindKey } from './served-resources.ts'

export type KnownResource = Pick<DiscoveredResource, 'group' | 'version' | 'resource' | 'kind' | 'namespaced'>

export class KnownResources {
  /** By `groupResourceKey`, then by version. */
  readonly #versions = new Map<string, Map<string, KnownResource>>()
  readonly #kinds = new Map<string, KnownResource[]>()

  learn(resources: readonly DiscoveredResource[]): void {
    for (const { group, version, resource, kind, namespaced } of resources) {
      const key = groupResourceKey({ group, resource })
      const versions = this.#versions.get(key) ?? new Map<string, KnownResource>()
      if (versions.has(version)) continue
      const learnt: KnownResource = { group, version, resource, kind, namespaced }
      this.#versions.set(key, versions.set(version, learnt))
      const ofKind = this.#kinds.get(kindKey(group, kind)) ?? []
      ofKind.push(learnt)
      this.#kinds.set(
        kindKey(group, kind),
        ofKind.sort((a, b) => compareVersionPriority(a.version, b.version)),
      )
    }
  }

  /** Somebody has told what it serves: until then, that a resource is not known says nothing. */
  heard(): boolean {
    return this.#versions.size > 0
  }

  /** `version` empty: any. */
  has({ group, version, resource }: GroupVersionResource): boolean {
    const versions = this.#versions.get(groupResourceKey({ group, resource }))
    return versions !== undefined && (version === '' || versions.has(version))
  }

  known(group: string, version: string, resource: string): KnownResource | undefined {
    return this.#versions.get(groupResourceKey({ group, resource }))?.get(version)
  }

  /** The highest version first. */
  ofKind(group: string, kind: string): readonly KnownResource[] {
    return this.#kinds.get(kindKey(group, kind)) ?? []
  }
}

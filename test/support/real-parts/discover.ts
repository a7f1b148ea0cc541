import { setTimeout as delay } from 'node:timers/promises'
import { groupVersionPath, parseApiVersion, resourcePath } from '../../../src/kube/group-version.ts'
import type { RealCluster } from './control-plane.ts'

export interface ServedResource {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespaced: boolean
}

/** What a real server can list, in all versions, as plain discovery says it. Groups that do not answer are left out. */
export async function listableResources(cluster: RealCluster): Promise<ServedResource[]> {
  const { groups } = (await cluster.ok('/apis')) as { groups: { versions: { groupVersion: string }[] }[] }
  const versions = ['v1', ...groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion))]
  const found: ServedResource[] = []
  for (const apiVersion of versions) {
    const response = await cluster.request(groupVersionPath(parseApiVersion(apiVersion)!))
    if (response.status !== 200) continue
    const { resources } = response.json() as { resources: (Omit<ServedResource, 'apiVersion'> & { verbs: string[] })[] }
    for (const { name, kind, namespaced, verbs } of resources) {
      if (verbs.includes('list')) found.push({ apiVersion, kind, name, namespaced })
    }
  }
  return found
}

/** Finds the collections of objects by kind; waits for kinds that a definition has just brought. */
export class Collections {
  readonly #cluster: RealCluster
  #resources: readonly ServedResource[] = []

  constructor(cluster: RealCluster) {
    this.#cluster = cluster
  }

  async path(apiVersion: string, kind: string, namespace: string): Promise<string> {
    for (let attempt = 0; attempt < 100; attempt++) {
      const found = this.#resources.find((resource) => resource.apiVersion === apiVersion && resource.kind === kind)
      if (found !== undefined) {
        const gvr = { ...parseApiVersion(apiVersion)!, resource: found.name }
        return resourcePath(gvr, found.namespaced ? namespace : '')
      }
      if (attempt > 0) await delay(100)
      this.#resources = await listableResources(this.#cluster)
    }
    throw new Error(`${apiVersion} ${kind} is not served`)
  }
}

/** Objects as members send them, and short ways to ask a cache about them. */
import { FakeClock } from '../support/fake-clock.ts'
import { Cache, type CacheOptions } from '../../src/cache/cache.ts'
import type { CachedObject, ResourceReader, Snapshot, SnapshotFilter } from '../../src/cache/reader.ts'
import type { ShardSpec, ShardWriter } from '../../src/cache/writer.ts'
import type { GroupVersionResource } from '../../src/kube/group-version.ts'
import type { ClusterName, ResourceVersion } from '../../src/kube/names.ts'

export const PODS: GroupVersionResource = { group: '', version: 'v1', resource: 'pods' }

export const cluster = (name: string): ClusterName => name as ClusterName
export const version = (value: string | number): ResourceVersion => String(value) as ResourceVersion

export interface PodShape {
  readonly namespace?: string
  readonly name: string
  readonly uid?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly padding?: string
}

/** A pod as an item of a LIST: without kind and apiVersion. The uid follows from the key unless it is given. */
export function pod(shape: PodShape, resourceVersion: string | number): Buffer {
  const { namespace = 'default', name, uid = `uid-${namespace}-${name}`, labels, padding } = shape
  const metadata = { name, namespace, uid, resourceVersion: String(resourceVersion), ...(labels && { labels }) }
  return Buffer.from(JSON.stringify({ metadata, ...(padding !== undefined && { spec: { padding } }) }))
}

export interface TestCache {
  readonly cache: Cache
  readonly clock: FakeClock
  readonly pods: ResourceReader
  open(name: string, spec?: Partial<ShardSpec>): ShardWriter
}

export function newCache(options: Partial<CacheOptions> = {}): TestCache {
  const clock = new FakeClock()
  const cache = new Cache({ clock, ...options })
  cache.register(PODS, 'Pod', true)
  const pods = cache.resource(PODS)
  if (pods === undefined) throw new Error('not registered')
  const open = (name: string, spec: Partial<ShardSpec> = {}): ShardWriter =>
    cache.openShard({ cluster: cluster(name), clusterUid: 'u1', gvr: PODS, kind: 'Pod', namespaced: true, ...spec })
  return { cache, clock, pods, open }
}

export function replace(writer: ShardWriter, objects: readonly Uint8Array[], at: string | number): void {
  const replacement = writer.beginReplace()
  for (const object of objects) replacement.add(object)
  replacement.commit(version(at))
}

export function* objectsOf(snapshot: Snapshot): Generator<CachedObject> {
  for (let i = 0; i < snapshot.length; i++) yield snapshot.at(i)
}

/** `cluster/namespace/name@version` of each object. */
export const label = (object: CachedObject): string =>
  `${object.cluster}/${object.namespace}/${object.name}@${object.resourceVersion}`

export function list(resource: ResourceReader, filter: SnapshotFilter = {}): string[] {
  return [...objectsOf(resource.snapshot(filter))].map(label)
}

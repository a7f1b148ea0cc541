/** A batch is made of names when it is about to be written, so that it holds what is true then. */
import type { CacheReader } from '../cache/reader.ts'
import { groupResourceKey } from '../kube/group-version.ts'
import type { Change } from './backend-store.ts'
import { identityOf } from './manifest.ts'
import type { PendingName } from './pending-changes.ts'
import { isInScope, type StoreScope } from './store-scope.ts'

export interface Batch {
  readonly names: readonly PendingName[]
  /** In the order of `names`. */
  readonly changes: readonly Change[]
}

export interface BatchBounds {
  readonly objects: number
  /** Of the objects' bodies; a single one may be larger. */
  readonly bytes: number
}

export function makeBatch(
  pending: Iterable<PendingName>,
  cache: CacheReader,
  scope: StoreScope,
  bounds: BatchBounds,
): Batch {
  const names: PendingName[] = []
  const changes: Change[] = []
  const standing = new Map<string, string | undefined>()
  let bytes = 0
  for (const name of pending) {
    const change = changeOf(name, cache, scope, standing)
    names.push(name)
    changes.push(change)
    bytes += change.type === 'upsert' ? change.bytes.length : 0
    if (changes.length >= bounds.objects || bytes >= bounds.bytes) break
  }
  return { names, changes }
}

/** A resource may have been registered anew, in another version, since its change was noted. */
function changeOf(pending: PendingName, cache: CacheReader, scope: StoreScope, standing: Standing): Change {
  const { resource, cluster, namespace, name, force } = pending
  const current = cache.resource(resource.gvr)
  const wanted = isInScope(scope.of(cluster, resource.gvr), namespace)
  const object = wanted ? current?.get(cluster, namespace, name) : undefined
  const identity = identityOf({ resource: current ?? resource, cluster })
  if (object !== undefined) {
    const { uid, resourceVersion, bytes } = object
    return { type: 'upsert', ...identity, namespace, name, uid, resourceVersion, bytes, ...(force && { force }) }
  }
  // What leaves the scope is still there, and its version says nothing about when.
  const version = wanted ? standingOf(pending, cache, standing) : undefined
  const known = version === undefined ? {} : { resourceVersion: version }
  return { type: 'delete', ...identity, namespace, name, ...known, ...((force || !wanted) && { force: true }) }
}

/** Versions of shards, looked up once for a batch. */
type Standing = Map<string, string | undefined>

function standingOf({ resource, cluster }: PendingName, cache: CacheReader, standing: Standing): string | undefined {
  const key = `${cluster}\n${groupResourceKey(resource.gvr)}`
  if (!standing.has(key)) {
    const shards = cache.resource(resource.gvr)?.shards() ?? []
    standing.set(key, shards.find((shard) => shard.cluster === cluster)?.version)
  }
  return standing.get(key)
}

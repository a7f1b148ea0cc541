/** What of the cache a store mirrors. */
import { groupResourceKey, type GroupResource } from '../kube/group-version.ts'

/** The namespaces of one resource of one cluster; `all`: every object; undefined: none. */
export type ShardScope = ReadonlySet<string> | 'all' | undefined

export interface StoreScope {
  of(cluster: string, resource: GroupResource): ShardScope
}

/** Of the embedded store: whatever is cached. */
export const EVERYTHING: StoreScope = { of: () => 'all' }

/** Of a store that is to be emptied. */
export const NOTHING: StoreScope = { of: () => undefined }

export interface ScopedShard extends GroupResource {
  readonly cluster: string
  /** Undefined: all. */
  readonly namespaces: ReadonlySet<string> | undefined
}

export function scopeOf(shards: Iterable<ScopedShard>): StoreScope {
  const scopes = new Map<string, ShardScope>()
  for (const shard of shards) scopes.set(scopeKey(shard.cluster, shard), shard.namespaces ?? 'all')
  return { of: (cluster, resource) => scopes.get(scopeKey(cluster, resource)) }
}

export function isInScope(scope: ShardScope, namespace: string): boolean {
  return scope === 'all' || scope?.has(namespace) === true
}

export function isSameScope(a: ShardScope, b: ShardScope): boolean {
  if (a === b) return true
  return typeof a === 'object' && typeof b === 'object' && a.size === b.size && [...a].every((each) => b.has(each))
}

function scopeKey(cluster: string, resource: GroupResource): string {
  return `${cluster}\n${groupResourceKey(resource)}`
}

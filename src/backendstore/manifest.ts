/** What a shard of the cache holds, in parts, for comparing a store with it. */
import type { CachedObject } from '../cache/reader.ts'
import type { ManifestEntry, ShardIdentity } from './backend-store.ts'
import type { ShardRef } from './pending-changes.ts'
import { isInScope, type ShardScope } from './store-scope.ts'

/** Reading them takes about 2 ms; between two parts everything else gets its turn. */
const ENTRIES = 1_000

export async function* manifestOf(
  { resource, cluster }: ShardRef,
  scope: ShardScope = 'all',
): AsyncGenerator<readonly ManifestEntry[]> {
  const snapshot = resource.snapshot({ clusters: new Set([cluster]) })
  for (let from = 0; from < snapshot.length; from += ENTRIES) {
    const to = Math.min(from + ENTRIES, snapshot.length)
    const entries = Array.from({ length: to - from }, (_, i) => entryOf(snapshot.at(from + i)))
    yield scope === 'all' ? entries : entries.filter(({ namespace }) => isInScope(scope, namespace))
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function entryOf({ namespace, name, uid, resourceVersion }: CachedObject): ManifestEntry {
  return { namespace, name, uid, resourceVersion }
}

export function identityOf({ resource, cluster }: ShardRef): ShardIdentity {
  return { cluster, ...resource.gvr, kind: resource.kind }
}

/**
 * Which objects a store has yet to be told of: names only, each once however often it changes, so that a slow store costs
 * a bounded amount of memory and no informer ever waits for it. Beyond the bound a shard's names are forgotten and the
 * shard is compared as a whole instead.
 */
import type { ResourceReader } from '../cache/reader.ts'
import { gvrKey } from '../kube/group-version.ts'
import { objectKey, type ClusterName, type ObjectKey } from '../kube/names.ts'

/** A resource of a cluster in the cache. */
export interface ShardRef {
  readonly resource: ResourceReader
  readonly cluster: ClusterName
}

export interface PendingName extends ShardRef {
  readonly namespace: string
  readonly name: string
}

interface PendingShard extends ShardRef {
  readonly keys: Set<ObjectKey>
}

export class PendingChanges {
  readonly #shards = new Map<string, PendingShard>()
  readonly #limit: number
  #size = 0

  /** `limit`: names held at most (about 100 B each). */
  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#size
  }

  get isFull(): boolean {
    return this.#size >= this.#limit
  }

  /** False where the shard's names had to be forgotten: it has to be compared. */
  add(shard: ShardRef, namespace: string, name: string): boolean {
    const pending = this.#shard(shard)
    const before = pending.keys.size
    pending.keys.add(objectKey(namespace, name))
    this.#size += pending.keys.size - before
    if (this.#size <= this.#limit) return true
    this.forget(shard)
    return false
  }

  /** Names one after the other, taking turns between shards from call to call; what is not taken stays. */
  *take(): Generator<PendingName> {
    for (const [id, shard] of this.#shards) {
      this.#shards.delete(id)
      try {
        for (const key of shard.keys) {
          shard.keys.delete(key)
          this.#size--
          yield { ...refOf(shard), ...splitKey(key) }
        }
      } finally {
        if (shard.keys.size > 0) this.#shards.set(id, shard) // at the end: others come first next time
      }
    }
  }

  forget(shard: ShardRef): void {
    const id = shardId(shard)
    this.#size -= this.#shards.get(id)?.keys.size ?? 0
    this.#shards.delete(id)
  }

  #shard(shard: ShardRef): PendingShard {
    const id = shardId(shard)
    let pending = this.#shards.get(id)
    if (pending === undefined) this.#shards.set(id, (pending = { ...refOf(shard), keys: new Set() }))
    return pending
  }
}

export function shardId({ resource, cluster }: ShardRef): string {
  return `${cluster}\n${gvrKey(resource.gvr)}`
}

export function refOf({ resource, cluster }: ShardRef): ShardRef {
  return { resource, cluster }
}

/** Names never hold a slash. */
function splitKey(key: ObjectKey): { namespace: string; name: string } {
  const slash = key.indexOf('/')
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/**
 * Which objects a store has yet to be told of: names only, each once however often it changes, so that a slow store costs
 * a bounded amount of memory and no informer ever waits for it. Beyond the bound a shard's names are forgotten and the
 * shard is compared as a whole instead.
 *
 * A name that is under way stays here, when it changes again, until its batch has ended: no store is ever given two states
 * of one object at once.
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
  /** The store was found to have something else under this name, and not for want of being told. */
  readonly force: boolean
}

interface PendingShard extends ShardRef {
  /** Whether each is to be forced. */
  readonly keys: Map<ObjectKey, boolean>
}

export class PendingChanges {
  readonly #shards = new Map<string, PendingShard>()
  readonly #underWay = new Map<string, Set<ObjectKey>>()
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

  /** Names of each cluster. */
  byCluster(): ReadonlyMap<ClusterName, number> {
    const clusters = new Map<ClusterName, number>()
    for (const { cluster, keys } of this.#shards.values()) {
      clusters.set(cluster, (clusters.get(cluster) ?? 0) + keys.size)
    }
    return clusters
  }

  /** False where the shard's names had to be forgotten: it has to be compared. */
  add(shard: ShardRef, namespace: string, name: string, force = false): boolean {
    const { keys } = this.#shard(shard)
    const key = objectKey(namespace, name)
    const before = keys.size
    keys.set(key, force || keys.get(key) === true)
    this.#size += keys.size - before
    if (this.#size <= this.#limit) return true
    this.forget(shard)
    return false
  }

  /** Names one after the other, taking turns between shards from call to call; what is not taken stays. */
  *take(): Generator<PendingName> {
    for (const [id, shard] of [...this.#shards]) {
      const underWay = this.#underWay.get(id)
      this.#shards.delete(id)
      try {
        for (const [key, force] of shard.keys) {
          if (underWay?.has(key) === true) continue
          shard.keys.delete(key)
          this.#size--
          yield { ...refOf(shard), ...splitKey(key), force }
        }
      } finally {
        if (shard.keys.size > 0) this.#shards.set(id, shard) // at the end: others come first next time
      }
    }
  }

  begin(names: readonly PendingName[]): void {
    for (const name of names) {
      const id = shardId(name)
      const keys = this.#underWay.get(id) ?? new Set()
      this.#underWay.set(id, keys.add(objectKey(name.namespace, name.name)))
    }
  }

  end(names: readonly PendingName[]): void {
    for (const name of names) {
      const id = shardId(name)
      const keys = this.#underWay.get(id)
      keys?.delete(objectKey(name.namespace, name.name))
      if (keys?.size === 0) this.#underWay.delete(id)
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
    if (pending === undefined) this.#shards.set(id, (pending = { ...refOf(shard), keys: new Map() }))
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

/** Shards that are to go from the store: those told of, those found to be of no use there, or all there are. */
import { gvrKey } from '../kube/group-version.ts'
import type { BackendStoreWriter, ShardIdentity } from './backend-store.ts'
import type { DeadLetters } from './dead-letters.ts'
import { identityOf } from './manifest.ts'
import { shardId, type ShardRef } from './pending-changes.ts'
import type { StoreScope } from './store-scope.ts'

export interface ShardRemovalsOptions {
  readonly store: BackendStoreWriter
  readonly letters: DeadLetters
  /** What the cache has, synced or not. */
  readonly shards: () => Iterable<ShardRef>
  readonly scope: () => StoreScope
}

export class ShardRemovals {
  readonly #options: ShardRemovalsOptions
  readonly #told = new Map<string, ShardIdentity>()
  #purge = false
  /** The purge is of all there is. */
  #emptying = false
  #empty = false

  constructor(options: ShardRemovalsOptions) {
    this.#options = options
  }

  get due(): boolean {
    return this.#told.size > 0 || this.#purge
  }

  /** `empty` was asked for, and is done. */
  get isEmpty(): boolean {
    return this.#empty
  }

  add(shard: ShardRef): void {
    this.#told.set(shardId(shard), identityOf(shard))
  }

  /** What the store has and is not to mirror, or the cache does not have. */
  purge(): void {
    this.#purge = true
  }

  empty(): void {
    this.#emptying = true
    this.#purge = true
  }

  /** There is something to be in it again. */
  keep(): void {
    this.#emptying = false
    this.#empty = false
  }

  /** What is due is left to whoever comes next. */
  forget(): void {
    this.#told.clear()
    this.#purge = false
  }

  /** Not while a batch is under way that may bring back what is removed. What fails stays due. */
  async carryOut(): Promise<void> {
    const emptying = this.#emptying
    const { store, letters } = this.#options
    if (emptying && store.clear !== undefined) {
      await store.clear()
      this.forget()
    }
    if (this.#purge) {
      for (const orphan of await this.#orphans()) this.#told.set(`${orphan.cluster}\n${gvrKey(orphan)}`, orphan)
      this.#purge = false
    }
    for (const [id, shard] of this.#told) {
      await store.dropShard(shard)
      this.#told.delete(id)
      letters.removeShard(store.name, shard)
    }
    this.#empty = emptying && this.#emptying
  }

  async #orphans(): Promise<ShardIdentity[]> {
    const stored = await this.#options.store.shards()
    const cached = new Set([...this.#options.shards()].map(({ cluster, resource }) => keyOf(cluster, resource.gvr)))
    const scope = this.#options.scope()
    return stored
      .filter((shard) => !cached.has(keyOf(shard.cluster, shard)) || scope.of(shard.cluster, shard) === undefined)
      .map(({ cluster, group, resource }) => ({ cluster, group, resource, version: '', kind: '' }))
  }
}

function keyOf(cluster: string, { group, resource }: { group: string; resource: string }): string {
  return `${cluster}\n${group}\n${resource}`
}

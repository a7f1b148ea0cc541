/**
 * The write handle of a shard. Only the newest handle of a shard writes: what an earlier reflector, stopped but not yet
 * silent, still sends goes nowhere.
 */
import type { ResourceVersion } from '../kube/names.ts'
import type { ReflectorState, Replacement, WatchEventType } from '../informer/reflector-store.ts'
import type { Shard } from './shard.ts'
import type { ShardWriter } from './writer.ts'

/** What takes care of the shard of a handle. */
export interface ShardOwner {
  isCurrent(handle: ShardWriter): boolean
  drop(shard: Shard): void
}

const NOWHERE: Replacement = {
  add: () => undefined,
  commit: () => undefined,
  discard: () => undefined,
}

export class ShardHandle implements ShardWriter {
  readonly shard: Shard
  readonly #owner: ShardOwner

  constructor(shard: Shard, owner: ShardOwner) {
    this.shard = shard
    this.#owner = owner
  }

  beginReplace(): Replacement {
    return this.#isCurrent() ? this.shard.beginReplace(undefined) : NOWHERE
  }

  beginNamespaceReplace(namespace: string): Replacement {
    return this.#isCurrent() ? this.shard.beginReplace(namespace) : NOWHERE
  }

  apply(type: WatchEventType, object: Uint8Array): ResourceVersion {
    if (this.#isCurrent()) this.shard.apply(type, object, undefined)
    return this.shard.version
  }

  applyAt(type: WatchEventType, object: Uint8Array, version: ResourceVersion): void {
    if (this.#isCurrent()) this.shard.apply(type, object, version)
  }

  bookmark(version: ResourceVersion): void {
    if (this.#isCurrent()) this.shard.bookmark(version)
  }

  report(state: ReflectorState): void {
    if (this.#isCurrent()) this.shard.report(state)
  }

  setNamespaces(namespaces: ReadonlySet<string> | undefined): void {
    if (this.#isCurrent()) this.shard.setNamespaces(namespaces)
  }

  drop(): void {
    if (this.#isCurrent()) this.#owner.drop(this.shard)
  }

  #isCurrent(): boolean {
    return this.#owner.isCurrent(this)
  }
}

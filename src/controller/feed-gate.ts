/**
 * What stands between a reflector and its shard: closed, it lets nothing through any more, so that a reflector that was
 * told to stop but has bytes in hand cannot write into what belongs to its successor. Open, it tells how the feed fares.
 */
import type { ReflectorState, ReflectorStore, Replacement, WatchEventType } from '../informer/reflector-store.ts'
import type { ResourceVersion } from '../kube/names.ts'
import type { Shard } from './ports.ts'

/** The part of a shard that feeds write to. */
export type FeedTarget = ReflectorStore & Pick<Shard, 'beginNamespaceReplace' | 'applyAt'>

export interface FeedObserver {
  reported(state: ReflectorState): void
  /** A list was taken over. */
  listed(): void
}

const NOWHERE: Replacement = { add: () => undefined, commit: () => undefined, discard: () => undefined }

export class FeedGate implements FeedTarget {
  readonly #shard: FeedTarget
  readonly #observer: FeedObserver
  readonly #open = new Set<Replacement>()
  #closed = false
  #version = '' as ResourceVersion

  constructor(shard: FeedTarget, observer: FeedObserver) {
    this.#shard = shard
    this.#observer = observer
  }

  /** What is under way is discarded. */
  close(): void {
    this.#closed = true
    for (const replacement of this.#open) replacement.discard()
    this.#open.clear()
  }

  beginReplace(): Replacement {
    return this.#closed ? NOWHERE : this.#guard(this.#shard.beginReplace())
  }

  beginNamespaceReplace(namespace: string): Replacement {
    return this.#closed ? NOWHERE : this.#guard(this.#shard.beginNamespaceReplace(namespace))
  }

  apply(type: WatchEventType, object: Uint8Array): ResourceVersion {
    if (!this.#closed) this.#version = this.#shard.apply(type, object)
    return this.#version
  }

  applyAt(type: WatchEventType, object: Uint8Array, version: ResourceVersion): void {
    if (!this.#closed) this.#shard.applyAt(type, object, version)
  }

  bookmark(version: ResourceVersion): void {
    if (!this.#closed) this.#shard.bookmark(version)
  }

  report(state: ReflectorState): void {
    if (this.#closed) return
    this.#shard.report(state)
    this.#observer.reported(state)
  }

  #guard(inner: Replacement): Replacement {
    this.#open.add(inner)
    const isOpen = (): boolean => this.#open.has(inner)
    return {
      add: (object) => {
        if (isOpen()) inner.add(object)
      },
      commit: (version) => {
        if (!this.#open.delete(inner)) return
        inner.commit(version)
        this.#observer.listed()
      },
      discard: () => {
        if (this.#open.delete(inner)) inner.discard()
      },
    }
  }
}

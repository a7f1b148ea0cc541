/**
 * Objects that a store refused for good: which, and why. Names and reasons, no bodies: the cache has those, and shows them
 * to those who may see them. A letter goes when its object is written after all, or is gone; the oldest go where there are
 * too many. `replay` gives objects again.
 */
import type { RefusedChange, ShardIdentity } from './backend-store.ts'

export interface DeadLetter extends RefusedChange {
  readonly store: string
  /** Ms since the epoch. */
  readonly firstMs: number
  readonly lastMs: number
  /** How often it was refused. */
  readonly times: number
}

/** About 500 B each. */
const MAX_LETTERS = 10_000

/** Engines quote half a document where they explain themselves. */
const MAX_REASON = 300

export class DeadLetters {
  readonly #letters = new Map<string, DeadLetter>()
  readonly #nowMs: () => number
  readonly #onChange: () => void
  #dropped = 0

  /** `onChange` is called after each change; may be often. */
  constructor(nowMs: () => number, onChange: () => void = () => undefined) {
    this.#nowMs = nowMs
    this.#onChange = onChange
  }

  get size(): number {
    return this.#letters.size
  }

  /** Letters that went because there were too many. */
  get dropped(): number {
    return this.#dropped
  }

  /** Whether it is news: the first time, or for another reason. */
  add(store: string, refused: RefusedChange): boolean {
    const key = keyOf(store, refused)
    const before = this.#letters.get(key)
    const reason = refused.reason.slice(0, MAX_REASON)
    const now = this.#nowMs()
    const { cluster, group, version, resource, kind, namespace, name } = refused
    this.#letters.delete(key) // the latest stand last
    this.#letters.set(key, {
      ...{ store, cluster, group, version, resource, kind, namespace, name, reason },
      ...{ firstMs: before?.firstMs ?? now, lastMs: now, times: (before?.times ?? 0) + 1 },
    })
    this.#bound()
    this.#onChange()
    return before?.reason !== reason
  }

  remove(store: string, object: Omit<RefusedChange, 'reason'>): void {
    if (this.#letters.size > 0 && this.#letters.delete(keyOf(store, object))) this.#onChange()
  }

  removeShard(
    store: string,
    { cluster, group, resource }: Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>,
  ): void {
    this.#removeWhere(
      (letter) =>
        letter.store === store && letter.cluster === cluster && letter.group === group && letter.resource === resource,
    )
  }

  removeStore(store: string): void {
    this.#removeWhere((letter) => letter.store === store)
  }

  /** The longest undisturbed first. */
  list(): readonly DeadLetter[] {
    return [...this.#letters.values()]
  }

  count(store: string): number {
    let count = 0
    for (const letter of this.#letters.values()) if (letter.store === store) count++
    return count
  }

  /** What a file kept of an earlier run. */
  restore(letters: readonly DeadLetter[]): void {
    for (const letter of letters) this.#letters.set(keyOf(letter.store, letter), letter)
    this.#bound()
  }

  #removeWhere(matches: (letter: DeadLetter) => boolean): void {
    const before = this.#letters.size
    for (const [key, letter] of this.#letters) if (matches(letter)) this.#letters.delete(key)
    if (this.#letters.size !== before) this.#onChange()
  }

  #bound(): void {
    for (const key of this.#letters.keys()) {
      if (this.#letters.size <= MAX_LETTERS) return
      this.#letters.delete(key)
      this.#dropped++
    }
  }
}

function keyOf(store: string, { cluster, group, resource, namespace, name }: Omit<RefusedChange, 'reason'>): string {
  return [store, cluster, group, resource, namespace, name].join('\n')
}

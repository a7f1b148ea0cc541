/** The replacements of one shard that are being filled, and which of its namespaces have been replaced at all. */
import type { ShardContent } from './shard-content.ts'
import type { Staging } from './staging.ts'

export class Replacements {
  readonly #staged = new Set<Staging>()
  /** Namespaces replaced one by one while the shard waits for the last of them. */
  readonly #listed = new Set<string>()

  /** Earlier replacements of the same objects end here. */
  begin(staging: Staging): void {
    this.supersede(staging.namespace)
    this.#staged.add(staging)
  }

  /** Ends those that hold what is in one namespace (undefined: anything). */
  supersede(namespace: string | undefined): void {
    if (this.#staged.size === 0) return
    for (const staging of [...this.#staged]) {
      const covers = staging.namespace === undefined || namespace === undefined || staging.namespace === namespace
      if (covers) staging.supersede()
    }
  }

  forget(staging: Staging): void {
    this.#staged.delete(staging)
  }

  installed(staging: Staging): void {
    this.forget(staging)
    if (staging.namespace !== undefined) this.#listed.add(staging.namespace)
  }

  /** Whether any namespace has been replaced, and all of these. */
  hasListed(namespaces: ReadonlySet<string>): boolean {
    return this.#listed.size > 0 && [...namespaces].every((name) => this.#listed.has(name))
  }

  /** Whether one object more would be within `maxObjects` when this replacement is committed. */
  hasRoom({ namespace, order }: Staging, content: ShardContent, maxObjects: number): boolean {
    if (namespace === undefined) return order.length < maxObjects
    const most = content.order.length + this.#arriving()
    // Looked for last: it takes a search for each namespace, and room is asked for with each object.
    return most < maxObjects || most - this.#leaving(content) < maxObjects
  }

  narrow(): void {
    for (const staging of this.#staged) staging.narrow()
  }

  /** They end without a trace. */
  abandon(): void {
    for (const staging of [...this.#staged]) staging.abandon()
  }

  clear(): void {
    this.#staged.clear()
  }

  /** Objects that the replacements of single namespaces have. */
  #arriving(): number {
    let objects = 0
    for (const { namespace, order } of this.#staged) if (namespace !== undefined) objects += order.length
    return objects
  }

  /** Objects that go when they come. */
  #leaving(content: ShardContent): number {
    let objects = 0
    for (const { namespace } of this.#staged) {
      if (namespace === undefined) continue
      const [from, to] = content.namespaceRange(namespace)
      objects += to - from
    }
    return objects
  }
}

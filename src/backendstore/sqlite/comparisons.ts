/** Comparisons of a shard with a manifest that arrives in parts, between which batches may be written. */
import type { ManifestEntry, ObjectName, ShardIdentity } from '../backend-store.ts'
import type { IndexWriter } from './index-writer.ts'

interface Comparison {
  readonly shard: ShardIdentity
  readonly seen: Set<number>
}

export class Comparisons {
  readonly #writer: IndexWriter
  readonly #open = new Map<number, Comparison>()
  #next = 0

  constructor(writer: IndexWriter) {
    this.#writer = writer
  }

  begin(shard: ShardIdentity): number {
    const id = this.#next++
    this.#open.set(id, { shard, seen: new Set() })
    return id
  }

  /** Of these entries, those that the store lacks or has in another version. */
  next(id: number, entries: readonly ManifestEntry[]): ObjectName[] {
    const comparison = this.#open.get(id)
    if (comparison === undefined) return []
    return entries
      .filter((entry) => !this.#stands(comparison, entry))
      .map(({ namespace, name }) => ({ namespace, name }))
  }

  /** What the store has and no entry named. Ends it; also after a manifest that broke off. */
  end(id: number): ObjectName[] {
    const comparison = this.#open.get(id)
    this.#open.delete(id)
    if (comparison === undefined) return []
    const extra: ObjectName[] = []
    for (const { id: row, namespace, name } of this.#writer.rows(comparison.shard)) {
      if (!comparison.seen.has(row)) extra.push({ namespace, name })
    }
    return extra
  }

  #stands({ shard, seen }: Comparison, entry: ManifestEntry): boolean {
    const row = this.#writer.row(shard, entry)
    if (row === undefined) return false
    seen.add(row.id)
    return row.uid === entry.uid && row.version === entry.resourceVersion
  }
}

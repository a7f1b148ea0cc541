/** What became of a batch: counted, and what the store refused for good is a dead letter until it is written or gone. */
import type { Logger } from '../telemetry/logger.ts'
import type { Change, ObjectName, RefusedChange, ShardIdentity, WriteSummary } from './backend-store.ts'
import type { Batch } from './batch.ts'
import type { StoreMetrics } from './bulk-metrics.ts'
import type { DeadLetters } from './dead-letters.ts'

export interface BatchOutcomesOptions {
  /** Of the store. */
  readonly name: string
  readonly letters: DeadLetters
  readonly metrics: StoreMetrics
  readonly logger: Logger
}

/** Names an object among those of all shards. */
export function nameId({ cluster, group, resource, namespace, name }: ShardIdentity & ObjectName): string {
  return `${cluster}\n${group}\n${resource}\n${namespace}\n${name}`
}

export class BatchOutcomes {
  readonly #options: BatchOutcomesOptions

  constructor(options: BatchOutcomesOptions) {
    this.#options = options
  }

  /** Those that have to be given again, by `nameId`. */
  settle({ changes }: Batch, summary: WriteSummary): ReadonlySet<string> {
    const { name, metrics, letters } = this.#options
    const { written, deleted, unchanged, rejected, deferred = [] } = summary
    const counts = { written, deleted, unchanged, rejected: rejected.length, deferred: deferred.length }
    for (const [outcome, count] of Object.entries(counts)) metrics.documents(name, outcome, count)
    if (letters.size > 0) this.#removeLetters(changes, [...rejected, ...deferred])
    for (const refused of rejected) if (letters.add(name, refused)) this.#tell(refused)
    return new Set(deferred.map(nameId))
  }

  #removeLetters(changes: readonly Change[], refused: readonly RefusedChange[]): void {
    const open = new Set(refused.map(nameId))
    for (const change of changes) {
      if (!open.has(nameId(change))) this.#options.letters.remove(this.#options.name, change)
    }
  }

  #tell({ cluster, resource, namespace, name, reason }: RefusedChange): void {
    const object = namespace === '' ? name : `${namespace}/${name}`
    const fields = { store: this.#options.name, cluster, gvr: resource, object, reason: reason.slice(0, 300) }
    this.#options.logger.error(fields, 'object refused by the search store')
  }
}

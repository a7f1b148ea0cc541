/**
 * Writes changes. Versions are the objects' own, so that what arrives late loses at the engine (`external_gte`: a restored
 * member has other content under a version it had before). Where a version stands in the way of a change that is not late
 * (a restored member counts anew, an object came again under its name, a shard was removed and is back), what stands there
 * is looked at and the change is made against just that.
 */
import { crc32 } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { Change, RefusedChange, Upsert, WriteSummary } from '../backend-store.ts'
import { packBatch } from '../packed-batch.ts'
import type { WorkerClient } from '../worker-rpc.ts'
import { sendBulk, type Guard, type Operation, type Outcome } from './bulk.ts'
import type { BuiltDocuments } from './document-worker.ts'
import type { EngineClient } from './engine-client.ts'
import type { Indices, KindIndices } from './indices.ts'
import { documentId } from './keys.ts'
import { Standing, versionDigits } from './standing.ts'

/** Documents known as they stand: for changes that are none. About 250 B each. */
const KNOWN = 50_000

/** Looks at what stands there so often; then it changes faster than it can be looked at. */
const MAX_ROUNDS = 4

interface Named {
  readonly id: string
  readonly change: Change
}

export class IndexWriter {
  readonly #client: EngineClient
  readonly #indices: Indices
  readonly #builder: WorkerClient
  readonly #standing: Standing
  readonly #known = new LRUCache<string, string>({ max: KNOWN })
  /** Names of documents that are being written, so that two batches never race for one. */
  readonly #underWay = new Map<string, Promise<unknown>>()

  constructor(client: EngineClient, indices: Indices, builder: WorkerClient) {
    this.#client = client
    this.#indices = indices
    this.#builder = builder
    this.#standing = new Standing(client)
  }

  async write(batch: readonly Change[]): Promise<WriteSummary> {
    const changes = [...lastOfEachName(batch)]
    const fresh = changes.filter((named) => !this.#isKnown(named))
    const built = this.#build(fresh) // copies the bodies before anything is waited for
    const others = new Set(fresh.flatMap(({ id }) => this.#underWay.get(id) ?? []))
    const writing = Promise.allSettled(others).then(async () => this.#write(fresh, await built))
    for (const { id } of fresh) this.#underWay.set(id, writing)
    try {
      const summary = await writing
      return { ...summary, unchanged: summary.unchanged + changes.length - fresh.length }
    } finally {
      for (const { id } of fresh) if (this.#underWay.get(id) === writing) this.#underWay.delete(id)
    }
  }

  /** Somebody else may have written: nothing is known any more. */
  forget(): void {
    this.#known.clear()
    this.#standing.forget()
  }

  #isKnown({ id, change }: Named): boolean {
    return change.type === 'upsert' && change.force !== true && this.#known.get(id) === contentOf(change)
  }

  async #build(changes: readonly Named[]): Promise<(Uint8Array | string | undefined)[]> {
    const upserts = changes.flatMap(({ change }) => (change.type === 'upsert' ? [change] : []))
    for (const { id, change } of changes) {
      this.#known.delete(id)
      if (change.type === 'upsert') this.#contents.set(change, contentOf(change))
    }
    if (upserts.length === 0) return changes.map(() => undefined)
    const packed = packBatch(upserts)
    const transfer = [packed.bodies.buffer as ArrayBuffer, packed.numbers.buffer as ArrayBuffer]
    const { lines, ends, faults } = await this.#builder.call<BuiltDocuments>('build', packed, transfer)
    let place = 0
    return changes.map(({ change }) => {
      if (change.type === 'delete') return undefined
      const at = place++
      return faults.get(at) ?? lines.subarray(at === 0 ? 0 : ends[at - 1], ends[at])
    })
  }

  readonly #contents = new WeakMap<Upsert, string>()

  async #write(
    changes: readonly Named[],
    documents: readonly (Uint8Array | string | undefined)[],
  ): Promise<WriteSummary> {
    const summary = new Summary()
    let operations: Operation[] = []
    const moved: Operation[] = []
    const indices = await this.#indicesOf(changes)
    for (const [i, { id, change }] of changes.entries()) {
      const document = documents[i]
      if (typeof document === 'string') {
        summary.reject(change, document)
        continue
      }
      const own = indices.get(change.kind) as KindIndices
      operations.push({ change, id, index: own.alias, document, guard: firstGuard(change) })
      moved.push(...movedFrom(own, { id, change }))
    }
    for (let round = 0; operations.length > 0; round++) {
      const outcomes = await sendBulk(this.#client, operations)
      const conflicts: Operation[] = []
      for (const [i, operation] of operations.entries()) {
        const outcome = outcomes[i] as Outcome
        if (outcome.type === 'conflict' && round < MAX_ROUNDS) conflicts.push(operation)
        else this.#settle(operation, outcome, summary)
      }
      operations = await this.#again(conflicts, summary)
    }
    await this.#takeOut(moved, summary)
    return summary.finish()
  }

  /** Made at once where they are missing: an engine takes as long for ten of them as for one. */
  async #indicesOf(changes: readonly Named[]): Promise<ReadonlyMap<string, KindIndices>> {
    const kinds = [...new Set(changes.map(({ change }) => change.kind))]
    return new Map(await Promise.all(kinds.map(async (kind) => [kind, await this.#indices.ensure(kind)] as const)))
  }

  #settle(operation: Operation, outcome: Outcome, summary: Summary): void {
    const { change, id } = operation
    switch (outcome.type) {
      case 'done':
        summary.done(change)
        if (change.type === 'upsert') this.#known.set(id, this.#contents.get(change) ?? '')
        else this.#standing.deleted(id, change)
        return
      case 'absent':
        if (change.type === 'delete') this.#standing.deleted(id, change)
        return summary.leave()
      case 'conflict':
        return summary.defer(change, 'it changes faster than it can be looked at')
      case 'noIndex':
        this.#indices.forget()
        this.forget()
        return summary.defer(change, 'its index is gone')
      case 'deferred':
        return summary.defer(change, outcome.reason)
      case 'rejected':
        return summary.reject(change, outcome.reason)
    }
  }

  /** Of operations that a version stood in the way of: those that are not late, against what stands there. */
  async #again(conflicts: readonly Operation[], summary: Summary): Promise<Operation[]> {
    const guards = await this.#standing.guards(conflicts)
    return conflicts.flatMap((operation, i) => {
      const guard = guards[i]
      if (guard !== undefined) return [{ ...operation, guard }]
      summary.leave()
      return []
    })
  }

  /** Documents of an index of another version, which stand in the new one by now, or are to be gone from both. */
  async #takeOut(moved: readonly Operation[], summary: Summary): Promise<void> {
    if (moved.length === 0) return
    const outcomes = await sendBulk(this.#client, moved)
    for (const [i, { change }] of moved.entries()) {
      const outcome = outcomes[i] as Outcome
      if (outcome.type === 'deferred' || outcome.type === 'rejected') summary.defer(change, outcome.reason)
    }
  }
}

function firstGuard(change: Change): Guard {
  const version = versionDigits(change.resourceVersion)
  return change.force === true || version === undefined ? { type: 'any' } : { type: 'version', version }
}

function movedFrom({ older }: KindIndices, { id, change }: Named): Operation[] {
  return older.map((index) => ({ change, id, index, document: undefined, guard: { type: 'any' } }))
}

function contentOf({ uid, version, resourceVersion, bytes }: Upsert): string {
  return `${uid} ${version} ${resourceVersion} ${crc32(bytes)}`
}

/** Only the last change of a name counts. */
function lastOfEachName(batch: readonly Change[]): Iterable<Named> {
  const last = new Map<string, Named>()
  for (const change of batch) {
    const id = documentId(change)
    last.set(id, { id, change })
  }
  return last.values()
}

class Summary {
  #written = 0
  #deleted = 0
  #unchanged = 0
  readonly #rejected: RefusedChange[] = []
  readonly #deferred: RefusedChange[] = []

  done(change: Change): void {
    if (change.type === 'upsert') this.#written++
    else this.#deleted++
  }

  leave(): void {
    this.#unchanged++
  }

  reject(change: Change, reason: string): void {
    this.#rejected.push(refused(change, reason))
  }

  defer(change: Change, reason: string): void {
    this.#deferred.push(refused(change, reason))
  }

  finish(): WriteSummary {
    return {
      written: this.#written,
      deleted: this.#deleted,
      unchanged: this.#unchanged,
      rejected: this.#rejected,
      deferred: this.#deferred,
    }
  }
}

function refused({ cluster, group, version, resource, kind, namespace, name }: Change, reason: string): RefusedChange {
  return { cluster, group, version, resource, kind, namespace, name, reason }
}

/**
 * Writes changes. Versions are the objects' own, so that what arrives late loses at the engine (`external_gte`: a restored
 * member has other content under a version it had before). Where a version stands in the way of a change that is not late
 * (a restored member counts anew, an object came again under its name, a shard was removed and is back), what stands there
 * is looked at and the change is made against just that.
 */
import { crc32 } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { Change, RefusedChange, Upsert, WriteSummary } from '../backend-store.ts'
import { BufferPool } from '../buffer-pool.ts'
import { buffersOf, packBatch, type PackedBatch } from '../packed-batch.ts'
import type { WorkerClient } from '../worker-rpc.ts'
import { guardedBy, headLine, sendBulk, type Guard, type Operation, type Outcome } from './bulk.ts'
import { roomFor, type BuildRequest, type BuiltLines } from './built-lines.ts'
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
  readonly #contents = new WeakMap<Upsert, string>()
  readonly #bodies = new BufferPool()
  readonly #lines = new BufferPool()
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
    const unchanged = changes.length - fresh.length
    if (fresh.length === 0) return new Summary(unchanged).finish()
    const packed = this.#pack(fresh) // copies the bodies before anything is waited for
    const others = new Set(fresh.flatMap(({ id }) => this.#underWay.get(id) ?? []))
    const writing = Promise.allSettled(others).then(() => this.#write(fresh, packed, new Summary(unchanged)))
    for (const { id } of fresh) this.#underWay.set(id, writing)
    try {
      return await writing
    } finally {
      for (const { id } of fresh) if (this.#underWay.get(id) === writing) this.#underWay.delete(id)
      if (this.#underWay.size === 0) for (const pool of [this.#bodies, this.#lines]) pool.clear()
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

  #pack(changes: readonly Named[]): PackedBatch {
    for (const { id, change } of changes) {
      this.#known.delete(id)
      if (change.type === 'upsert') this.#contents.set(change, contentOf(change))
    }
    return packBatch(
      changes.map(({ change }) => change),
      this.#bodies,
    )
  }

  /** What became of the batch is in `summary`. Its lines are used again once an engine has answered for all of them. */
  async #write(changes: readonly Named[], packed: PackedBatch, summary: Summary): Promise<WriteSummary> {
    const indices = await this.#indicesOf(changes)
    const planned = changes.map(({ id, change }) => {
      const { alias, older } = indices.get(change.kind) as KindIndices
      return { change, id, index: alias, guard: firstGuard(change), older }
    })
    const { lines, ends, faults } = await this.#build(packed, planned.map(headLine))
    const operations: Operation[] = []
    for (const [place, operation] of planned.entries()) {
      const fault = faults.get(place)
      if (fault !== undefined) {
        summary.reject(operation.change, fault)
        continue
      }
      operations.push({ ...operation, lines: lines.subarray(place === 0 ? 0 : ends[place - 1], ends[place]) })
    }
    const failed = await this.#send(operations, summary)
    const moved = planned.filter(({ id }, place) => !failed.has(id) && !faults.has(place))
    await this.#takeOut(
      moved.flatMap(({ older, ...operation }) => older.map((index) => takenFrom(index, operation))),
      summary,
    )
    this.#lines.give(lines.buffer)
    return summary.finish()
  }

  async #build(batch: PackedBatch, heads: readonly string[]): Promise<BuiltLines> {
    const memory = this.#lines.take(roomFor(batch.bodies.length))
    const request: BuildRequest = { batch, heads, memory }
    const built = await this.#builder.call<BuiltLines>('build', request, [...buffersOf(batch), memory])
    this.#bodies.give(built.bodies)
    return built
  }

  /** The ids of those that the engine did not take. */
  async #send(batch: readonly Operation[], summary: Summary): Promise<ReadonlySet<string>> {
    const failed = new Set<string>()
    let operations = batch
    for (let round = 0; operations.length > 0; round++) {
      const outcomes = await sendBulk(this.#client, operations)
      const conflicts: Operation[] = []
      for (const [i, operation] of operations.entries()) {
        const outcome = outcomes[i] as Outcome
        if (outcome.type === 'conflict' && round < MAX_ROUNDS) conflicts.push(operation)
        else if (!this.#settle(operation, outcome, summary)) failed.add(operation.id)
      }
      operations = await this.#again(conflicts, summary)
    }
    return failed
  }

  /** Made at once where they are missing: an engine takes as long for ten of them as for one. */
  async #indicesOf(changes: readonly Named[]): Promise<ReadonlyMap<string, KindIndices>> {
    const kinds = [...new Set(changes.map(({ change }) => change.kind))]
    return new Map(await Promise.all(kinds.map(async (kind) => [kind, await this.#indices.ensure(kind)] as const)))
  }

  /** Whether the engine took it. */
  #settle(operation: Operation, outcome: Outcome, summary: Summary): boolean {
    const { change, id } = operation
    switch (outcome.type) {
      case 'done':
        summary.done(change)
        if (change.type === 'upsert') this.#known.set(id, this.#contents.get(change) ?? '')
        else this.#standing.deleted(id, change)
        return true
      case 'absent':
        if (change.type === 'delete') this.#standing.deleted(id, change)
        summary.leave()
        return true
      case 'conflict':
        summary.defer(change, 'it changes faster than it can be looked at')
        return false
      case 'noIndex':
        this.#indices.forget()
        this.forget()
        summary.defer(change, 'its index is gone')
        return false
      case 'deferred':
        summary.defer(change, outcome.reason)
        return false
      case 'rejected':
        summary.reject(change, outcome.reason)
        return false
    }
  }

  /** Of operations that a version stood in the way of: those that are not late, against what stands there. */
  async #again(conflicts: readonly Operation[], summary: Summary): Promise<Operation[]> {
    const guards = await this.#standing.guards(conflicts)
    return conflicts.flatMap((operation, i) => {
      const guard = guards[i]
      if (guard !== undefined) return [guardedBy(operation, guard)]
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

/** Deletes a document from the index where it was before. */
function takenFrom(index: string, { change, id }: Named): Operation {
  const { cluster, group, version, resource, kind, namespace, name } = change
  const gone: Change = { type: 'delete', cluster, group, version, resource, kind, namespace, name }
  const operation = { change: gone, id, index, guard: { type: 'any' } as const }
  return { ...operation, lines: Buffer.from(headLine(operation)) }
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
  #unchanged: number
  #written = 0
  #deleted = 0
  readonly #rejected: RefusedChange[] = []
  readonly #deferred: RefusedChange[] = []

  constructor(unchanged: number) {
    this.#unchanged = unchanged
  }

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

/**
 * A search engine in memory as its clients see it, for virtual time: documents with external versions and tombstones, and
 * whatever goes wrong between: items put off, replies that get lost, slowness, an outage, a read-only index, wrong
 * credentials. Several clients may write to one engine. Keeps names and versions only.
 */
import type {
  BackendStore,
  Change,
  ManifestEntry,
  ObjectName,
  RefusedChange,
  ShardIdentity,
  StoredShard,
  WriteSummary,
} from '../../src/backendstore/backend-store.ts'
import { digestOf } from '../../src/backendstore/digest.ts'
import type { EngineStoreOptions } from '../../src/backendstore/engine-store.ts'
import { BackendStoreError, type BackendStoreErrorCode } from '../../src/backendstore/errors.ts'
import type { Clock } from '../../src/util/clock.ts'
import { sleep } from '../../src/util/sleep.ts'

interface Document extends ShardIdentity, ObjectName {
  readonly uid: string
  readonly resourceVersion: string
}

export interface EngineFaults {
  /** Every call is refused as a whole. */
  code?: BackendStoreErrorCode | undefined
  /** What each item is told; undefined: it is taken. */
  item?: ((change: Change) => { readonly deferred: string } | { readonly rejected: string } | undefined) | undefined
  /** Before a call is carried out. */
  latencyMs?: number
  /** Writes are carried out and their replies lost. */
  dropReplies?: boolean
}

type Shard = Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>

const NOT_ANSWERED_MS = 1_000

export class FakeEngine {
  readonly faults: EngineFaults = {}
  readonly documents = new Map<string, Document>()
  /** Newest version ever seen under each name; outlives deletion. */
  readonly #versions = new Map<string, bigint>()
  readonly #clock: Clock
  readonly opened: EngineStoreOptions[] = []
  calls: string[] = []
  /** Documents that an older version tried to replace. */
  lateWrites = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `cluster/namespace/name@version`, sorted. */
  names(): string[] {
    return [...this.documents.values()]
      .map(({ cluster, namespace, name, resourceVersion }) => `${cluster}/${namespace}/${name}@${resourceVersion}`)
      .sort()
  }

  /** As `OpenEngineStore`. `delayMs`: of this client alone. */
  async open(options: EngineStoreOptions, delayMs = 0): Promise<BackendStore> {
    this.opened.push(options)
    await this.#answer('open', 0)
    return this.#client(delayMs)
  }

  #client(delayMs: number): BackendStore {
    let closed = false
    const call = async <T>(what: string, act: () => T | Promise<T>, reply = true): Promise<T> => {
      if (closed) throw new BackendStoreError('closed', 'closed')
      this.calls.push(what)
      await this.#answer(what, delayMs)
      const result = await act()
      if (this.faults.dropReplies === true && reply) {
        await this.#wait(NOT_ANSWERED_MS)
        throw new BackendStoreError('unreachable', 'no reply')
      }
      return result
    }
    return {
      name: 'fake',
      capabilities: { atomicBatches: false, shared: true },
      write: (batch) => call(`write ${batch.length}`, () => this.#write(batch)),
      digest: (shard) => call('digest', () => digestOf(only(this.#of(shard)))),
      compare: (shard, manifest) => call('compare', () => this.#compare(shard, manifest)),
      dropShard: (shard) => call('drop', () => this.#drop(shard)),
      shards: () => call('shards', () => this.#shards()),
      clear: () => call('clear', () => this.documents.clear()),
      search: notSearched,
      count: notSearched,
      vocabulary: notSearched,
      size: () => Promise.resolve(0),
      close: async () => {
        closed = true
      },
    }
  }

  async #answer(what: string, delayMs: number): Promise<void> {
    await this.#wait((this.faults.latencyMs ?? 0) + delayMs)
    const { code } = this.faults
    if (code === undefined || (code === 'readOnly' && what === 'open')) return
    if (code === 'unreachable') await this.#wait(NOT_ANSWERED_MS)
    throw new BackendStoreError(code, `the engine says ${code}`)
  }

  async #wait(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, this.#clock, new AbortController().signal)
  }

  #write(batch: readonly Change[]): WriteSummary {
    const counts = { written: 0, deleted: 0, unchanged: 0 }
    const refused: Record<'deferred' | 'rejected', RefusedChange[]> = { deferred: [], rejected: [] }
    for (const change of batch) {
      const fault = this.faults.item?.(change)
      if (fault === undefined) counts[this.#take(change)]++
      else if ('deferred' in fault) refused.deferred.push({ ...change, reason: fault.deferred })
      else refused.rejected.push({ ...change, reason: fault.rejected })
    }
    return { ...counts, ...refused }
  }

  #take(change: Change): 'written' | 'deleted' | 'unchanged' {
    const key = keyOf(change)
    const newest = this.#versions.get(key) ?? 0n
    const { resourceVersion } = change
    const version = resourceVersion === undefined ? newest : BigInt(resourceVersion)
    const isLate = change.type === 'upsert' ? version <= newest : version < newest
    if (isLate && change.force !== true) {
      this.lateWrites++
      return 'unchanged'
    }
    this.#versions.set(key, version)
    if (change.type === 'delete') return this.documents.delete(key) ? 'deleted' : 'unchanged'
    const { bytes: _, ...document } = change
    this.documents.set(key, document)
    return 'written'
  }

  async #compare(shard: ShardIdentity, manifest: AsyncIterable<readonly ManifestEntry[]>): Promise<ObjectName[]> {
    const stored = new Map(this.#of(shard).map((each) => [keyOf(each), each]))
    const differing: ObjectName[] = []
    for await (const entries of manifest) {
      for (const entry of entries) {
        const key = keyOf({ ...shard, ...entry })
        const found = stored.get(key)
        stored.delete(key)
        if (found?.uid !== entry.uid || found.resourceVersion !== entry.resourceVersion) differing.push(entry)
      }
    }
    return [...differing, ...stored.values()]
  }

  #drop(shard: Shard): void {
    for (const each of this.#of(shard)) this.documents.delete(keyOf(each))
  }

  #shards(): StoredShard[] {
    const found = new Map<string, StoredShard>()
    for (const { cluster, group, resource } of this.documents.values()) {
      const key = `${cluster}|${group}|${resource}`
      found.set(key, { cluster, group, resource, objects: (found.get(key)?.objects ?? 0) + 1 })
    }
    return [...found.values()]
  }

  #of({ cluster, group, resource }: Shard): Document[] {
    return [...this.documents.values()].filter(
      (each) => each.cluster === cluster && each.group === group && each.resource === resource,
    )
  }
}

function notSearched(): Promise<never> {
  return Promise.reject(new Error('this one is only written to'))
}

async function* only(entries: readonly ManifestEntry[]): AsyncGenerator<readonly ManifestEntry[]> {
  yield entries
}

function keyOf({ cluster, group, resource, namespace, name }: Shard & ObjectName): string {
  return [cluster, group, resource, namespace, name].join('|')
}

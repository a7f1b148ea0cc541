/**
 * ResourceRegistries in etcd, read and written in place as a karmada-search does. Any number of processes may share
 * them: versions are etcd's revisions, writes are transactions on them.
 */
import type { ResourceRegistry } from '../../api/resource-registry.ts'
import type { ResourceVersion } from '../../kube/names.ts'
import { isStatusError, StatusError } from '../../kube/status-error.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Registry } from '../../telemetry/metrics.ts'
import type { Clock, Random } from '../../util/clock.ts'
import { PLAIN, type ValueTransformer } from '../encryption/value-transformer.ts'
import { registryConflict, registryExists, registryNotFound, versionTooOld } from '../errors.ts'
import type { RegistryEvent, RegistryList, RegistryStore } from '../registry-store.ts'
import { runCompactor } from './compactor.ts'
import { asStatusError, EtcdDatabase, type Answered, type EtcdFiles } from './database.ts'
import { follow } from './follow.ts'
import { GRPC_STATUS, isGrpcStatus } from './grpc-error.ts'
import { EtcdMetrics, type Operation } from './metrics.ts'
import { range, write, type KeyValue, type Mutation, type RangeAnswer, type Rpc, type WriteAnswer } from './messages.ts'
import { endOf, notesFolder, registryKeys, type Keys } from './keys.ts'
import { at, RegistryValues } from './registry-values.ts'
import { WatchHub } from './watch-hub.ts'

export interface EtcdRegistryStoreOptions {
  /** `https://HOST:PORT` or `http://HOST:PORT` of the members, at least one. */
  readonly servers: readonly string[]
  readonly files?: EtcdFiles
  /** Default `/registry`. */
  readonly prefix?: string
  /** How values stand in etcd; default: plain. */
  readonly transformer?: ValueTransformer | undefined
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Keys in one answer of a list; default 100. */
  readonly pageSize?: number
  readonly metrics?: Registry
  /** How often revisions older than that are compacted (`run`); default 0: never. */
  readonly compactionIntervalMs?: number
}

const PAGE_SIZE = 100 // at 1.5 MiB, the most etcd takes in a value, still an answer that can be held
const MAX_WRITE_ATTEMPTS = 5 // of a note, which one leader writes seldom
const MAX_LIST_ATTEMPTS = 3 // a list can be overtaken by a compaction, which comes every few minutes

export class EtcdRegistryStore implements RegistryStore {
  readonly #database: EtcdDatabase
  readonly #keys: Keys
  readonly #values: RegistryValues
  readonly #notes: string
  readonly #pageSize: number
  readonly #hub: WatchHub
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #metrics: EtcdMetrics | undefined
  readonly #upkeep: (signal: AbortSignal) => Promise<void>

  /** Connects at the first use: etcd may come up later than this. */
  constructor({ prefix = '/registry', pageSize = PAGE_SIZE, ...options }: EtcdRegistryStoreOptions) {
    const { clock, random, logger } = options
    this.#logger = logger
    this.#clock = clock
    this.#metrics = options.metrics === undefined ? undefined : new EtcdMetrics(options.metrics)
    this.#pageSize = pageSize
    this.#keys = registryKeys(prefix)
    this.#values = new RegistryValues(options.transformer ?? PLAIN)
    this.#notes = notesFolder(prefix)
    this.#database = new EtcdDatabase(options)
    const { prefix: key, end } = this.#keys
    const following = { database: this.#database, key, end, clock, random, logger }
    const compacting = { database: this.#database, intervalMs: options.compactionIntervalMs ?? 0, clock, logger }
    this.#upkeep = (signal) => (compacting.intervalMs > 0 ? runCompactor(compacting, signal) : Promise.resolve())
    this.#hub = new WatchHub({ follow: (from, signal) => follow({ ...following, from }, signal) })
  }

  async get(name: string): Promise<ResourceRegistry | undefined> {
    const stored = await this.#stored(name)
    return stored === undefined ? undefined : this.#values.decode(stored)
  }

  /** All pages at one revision. A value that cannot be read is logged and left out: it must not hide the others. */
  async list(): Promise<RegistryList> {
    const { kvs, revision } = await this.#listAll(this.#keys.prefix, this.#keys.end)
    const items = kvs.filter(({ key }) => this.#keys.nameOf(key) !== undefined).flatMap((kv) => this.#readable(kv))
    return { items, version: String(revision) as ResourceVersion }
  }

  async create(registry: ResourceRegistry): Promise<ResourceRegistry> {
    const { name } = registry.metadata
    const value = this.#values.encode(this.#keys.keyOf(name), registry)
    const { answer, written } = await this.#put('create', name, 0n, value)
    if (written === undefined) throw answer.found === undefined ? registryConflict(name) : registryExists(name)
    return this.#values.decode(written)
  }

  async update(registry: ResourceRegistry, expected: ResourceVersion): Promise<ResourceRegistry> {
    const { name } = registry.metadata
    const { stored } = await this.#expect(name, expected)
    const value = this.#values.encode(stored.key, registry, stored)
    const { answer, written } = await this.#put('update', name, stored.modRevision, value)
    if (written === undefined) throw answer.found === undefined ? registryNotFound(name) : registryConflict(name)
    return this.#values.decode(written)
  }

  /** Where it stands as it would not be written today (an old key of encryption): anew. Else nothing is written. */
  async refresh(registry: ResourceRegistry): Promise<ResourceRegistry> {
    const { name, resourceVersion } = registry.metadata
    const stored = await this.#stored(name)
    if (stored === undefined || String(stored.modRevision) !== resourceVersion) return registry
    return this.#values.isStale(stored) ? this.update(registry, resourceVersion as ResourceVersion) : registry
  }

  async delete(name: string, expected: ResourceVersion): Promise<ResourceRegistry> {
    const { stored, registry } = await this.#expect(name, expected)
    const key = this.#keys.keyOf(name)
    const { answer, repeated } = await this.#call(
      'delete',
      write({ key, expected: stored.modRevision, mutation: 'delete' }),
    )
    // An attempt whose answer was lost may have deleted it; gone is gone.
    const gone = answer.done || (repeated && answer.found === undefined)
    if (!gone) throw answer.found === undefined ? registryNotFound(name) : registryConflict(name)
    return at(registry, answer.revision)
  }

  async *watch(from: ResourceVersion, signal: AbortSignal): AsyncGenerator<RegistryEvent> {
    if (signal.aborted) return
    const start = await this.#requirePast(from)
    for await (const { revision, event } of this.#hub.watch(start, signal)) {
      if (event === undefined) yield { type: 'BOOKMARK', version: String(revision) as ResourceVersion }
      else if (this.#keys.nameOf(event.kv.key) !== undefined) {
        const change = this.#values.decodeEvent(event, (err) => {
          this.#logger.warn({ err }, 'a registry cannot be read')
        })
        if (change !== undefined) yield change
      }
    }
  }

  async notes(): Promise<ReadonlyMap<string, string>> {
    const { kvs } = await this.#listAll(this.#notes, endOf(this.#notes))
    return new Map(kvs.flatMap((stored) => this.#readableNote(stored)))
  }

  note(name: string, text: string): Promise<void> {
    const key = this.#notes + name
    return this.#overwrite('update', name, (found) =>
      this.#values.isText(found, text) ? undefined : { put: this.#values.encodeText(key, text) },
    )
  }

  forget(name: string): Promise<void> {
    return this.#overwrite('delete', name, (found) => (found === undefined ? undefined : 'delete'))
  }

  async probe(timeoutMs: number): Promise<void> {
    await this.#database.call(range({ key: this.#keys.health }), timeoutMs)
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#upkeep(signal)
  }

  async close(): Promise<void> {
    await this.#hub.close()
    await this.#database.close()
  }

  async #stored(name: string): Promise<KeyValue | undefined> {
    const { answer } = await this.#call('get', range({ key: this.#keys.keyOf(name) }))
    return answer.kvs[0]
  }

  async #expect(
    name: string,
    expected: ResourceVersion,
  ): Promise<{ readonly stored: KeyValue; readonly registry: ResourceRegistry }> {
    const stored = await this.#stored(name)
    if (stored === undefined) throw registryNotFound(name)
    if (String(stored.modRevision) !== expected) throw registryConflict(name)
    return { stored, registry: this.#values.decode(stored) }
  }

  /**
   * `written` is undefined where the transaction found another revision. An attempt whose answer was lost may have been
   * carried out: the value that is found then is the one that was to be written.
   */
  async #put(
    operation: 'create' | 'update',
    name: string,
    expected: bigint,
    value: Buffer,
  ): Promise<{ readonly answer: WriteAnswer; readonly written: KeyValue | undefined }> {
    const key = this.#keys.keyOf(name)
    const { answer, repeated } = await this.#call(operation, write({ key, expected, mutation: { put: value } }))
    if (answer.done) {
      return { answer, written: { key, value, createRevision: 0n, modRevision: answer.revision, version: 0n } }
    }
    const own = repeated && answer.found?.value.equals(value) ? answer.found : undefined
    return { answer, written: own }
  }

  /** Over whatever stands there, by transactions: those alone are known to every server that looks like etcd. */
  async #overwrite(
    operation: 'update' | 'delete',
    name: string,
    mutationOf: (found: KeyValue | undefined) => Mutation | undefined,
  ): Promise<void> {
    const key = this.#notes + name
    let found = (await this.#call('get', range({ key }))).answer.kvs[0]
    for (let attempt = 1; ; attempt++) {
      const mutation = mutationOf(found)
      if (mutation === undefined) return
      const { answer } = await this.#call(operation, write({ key, expected: found?.modRevision ?? 0n, mutation }))
      if (answer.done) return
      if (attempt >= MAX_WRITE_ATTEMPTS) throw new StatusError('conflict', `${key} in etcd changes all the time`)
      found = answer.found
    }
  }

  async #listAll(
    prefix: string,
    end: string,
  ): Promise<{ readonly kvs: readonly KeyValue[]; readonly revision: bigint }> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#pages(prefix, end)
      } catch (error) {
        if (attempt >= MAX_LIST_ATTEMPTS || !isStatusError(error, 'expired')) throw error
      }
    }
  }

  async #pages(prefix: string, end: string): Promise<{ readonly kvs: readonly KeyValue[]; readonly revision: bigint }> {
    const kvs: KeyValue[] = []
    let revision = 0n
    for (let key = prefix; ;) {
      const page: RangeAnswer = (await this.#call('list', range({ key, end, limit: this.#pageSize, revision }))).answer
      if (revision === 0n) revision = page.revision
      kvs.push(...page.kvs)
      const last = page.kvs.at(-1)
      if (!page.more || last === undefined) return { kvs, revision }
      key = `${last.key}\0`
    }
  }

  /** The revision to watch from. Throws `expired` for one of the future: it is another store's. */
  async #requirePast(from: ResourceVersion): Promise<bigint> {
    const { revision } = (await this.#call('get', range({ key: this.#keys.prefix }))).answer
    const start = /^[0-9]{1,18}$/.test(from) ? BigInt(from) : undefined
    if (start === undefined || start > revision) throw versionTooOld(from, String(revision))
    return start
  }

  #readable(stored: KeyValue): ResourceRegistry[] {
    try {
      return [this.#values.decode(stored)]
    } catch (err) {
      this.#logger.warn({ err }, 'a registry cannot be read')
      return []
    }
  }

  #readableNote(stored: KeyValue): [name: string, text: string][] {
    try {
      return [[stored.key.slice(this.#notes.length), this.#values.decodeText(stored)]]
    } catch (err) {
      this.#logger.warn({ err }, 'a note beside the registries cannot be read')
      return []
    }
  }

  async #call<Answer>(operation: Operation, rpc: Rpc<Answer>): Promise<Answered<Answer>> {
    const startedAt = this.#clock.monotonicMs()
    let failed = true
    try {
      const answered = await this.#database.call(rpc)
      failed = false
      return answered
    } catch (error) {
      if (isGrpcStatus(error, GRPC_STATUS.outOfRange)) throw versionTooOld(error.message, 'compacted')
      throw asStatusError(error)
    } finally {
      this.#metrics?.observe(operation, (this.#clock.monotonicMs() - startedAt) / 1_000, failed)
    }
  }
}

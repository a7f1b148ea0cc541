/**
 * The embedded store: one SQLite file, a thread that makes documents, one that writes them and one that reads. Tokens, typed
 * terms and sort keys, no bodies: about 2 KB for a pod (bench/sqlite.ts).
 */
import type {
  CountRequest,
  CountResult,
  SearchRequest,
  SearchResult,
  HeldSnapshots,
  SearchSnapshot,
  VocabularyRequest,
  VocabularyResult,
} from '../../query/search-request.ts'
import type {
  BackendStore,
  Change,
  ManifestEntry,
  ObjectName,
  ShardIdentity,
  StoreCapabilities,
  StoredShard,
  WriteSummary,
} from '../backend-store.ts'
import { isBackendStoreError } from '../errors.ts'
import { markDamaged } from './database.ts'
import { buffersOf as packedBuffersOf, packBatch, type PackedBatch } from '../packed-batch.ts'
import type { DocumentWorkerData } from './document-worker.ts'
import { buffersOf, type PreparedBatch } from './prepared-batch.ts'
import { ReadAhead } from './read-ahead.ts'
import type { ReaderData } from './reader-worker.ts'
import { WorkerClient } from '../worker-rpc.ts'
import { Snapshots } from './snapshots.ts'
import type { WriterData } from './writer-worker.ts'

export interface SqliteStoreOptions {
  /** Made where it is missing; made anew where it is of another version or damaged. One process at a time. */
  readonly file: string
  /** Is told what the columns in memory take, whenever that is known anew; at most `MAX_COLUMN_BYTES`. */
  readonly onColumnBytes?: (bytes: number) => void
}

interface Threads {
  readonly documents: WorkerClient
  readonly writer: WorkerClient
  readonly reader: WorkerClient
}

export class SqliteStore implements BackendStore {
  readonly name = 'sqlite'
  readonly capabilities: StoreCapabilities = { atomicBatches: true, shared: false }
  readonly #file: string
  readonly #documents: WorkerClient
  readonly #writer: WorkerClient
  readonly #reader: WorkerClient
  readonly #snapshots: Snapshots
  readonly #ahead: ReadAhead

  private constructor({ file, onColumnBytes }: SqliteStoreOptions, { documents, writer, reader }: Threads) {
    this.#file = file
    this.#documents = documents
    this.#writer = writer
    this.#reader = reader
    this.#snapshots = new Snapshots(file)
    this.#ahead = new ReadAhead(() => reader.call('readAhead', undefined), onColumnBytes ?? (() => undefined))
    this.#ahead.want()
  }

  /** Rejects with `BackendStoreError` where the file cannot be opened. */
  static async open(options: SqliteStoreOptions): Promise<SqliteStore> {
    const { file } = options
    const writer = new WorkerClient('sqlite/writer-worker', { file } satisfies WriterData)
    const clients = [writer]
    try {
      await writer.call('ready', undefined) // from here on the file exists
      const reader = new WorkerClient('sqlite/reader-worker', { file } satisfies ReaderData)
      clients.push(reader)
      await reader.call('ready', undefined)
      const paths = await writer.call<readonly string[]>('paths', undefined)
      const documents = new WorkerClient('sqlite/document-worker', { paths } satisfies DocumentWorkerData)
      return new SqliteStore(options, { documents, writer, reader })
    } catch (error) {
      await Promise.all(clients.map((client) => client.close()))
      throw error
    }
  }

  write(batch: readonly Change[]): Promise<WriteSummary> {
    return this.#noticing(this.#changing(this.#write(packBatch(batch))))
  }

  /** Batches stay in their order: each thread answers in that of its calls. */
  async #write(packed: PackedBatch): Promise<WriteSummary> {
    const prepared = await this.#documents.call<PreparedBatch>('prepare', packed, packedBuffersOf(packed))
    return this.#writer.call('write', prepared, buffersOf(prepared))
  }

  compare(shard: ShardIdentity, manifest: AsyncIterable<readonly ManifestEntry[]>): Promise<readonly ObjectName[]> {
    return this.#noticing(this.#compare(shard, manifest))
  }

  async #compare(
    shard: ShardIdentity,
    manifest: AsyncIterable<readonly ManifestEntry[]>,
  ): Promise<readonly ObjectName[]> {
    const { cluster, group, version, resource, kind } = shard
    const id = await this.#writer.call<number>('compareBegin', { cluster, group, version, resource, kind })
    const names: ObjectName[] = []
    let extra: readonly ObjectName[] = []
    try {
      for await (const entries of manifest) {
        names.push(...(await this.#writer.call<ObjectName[]>('compareNext', { id, entries })))
      }
    } finally {
      extra = await this.#writer.call<ObjectName[]>('compareEnd', id)
    }
    return [...names, ...extra]
  }

  dropShard({ cluster, group, resource }: Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>): Promise<void> {
    return this.#noticing(this.#changing(this.#writer.call('dropShard', { cluster, group, resource })))
  }

  shards(): Promise<readonly StoredShard[]> {
    return this.#noticing(this.#writer.call('shards', undefined))
  }

  search(request: SearchRequest): Promise<SearchResult> {
    return this.#noticing(this.#reader.call('search', request))
  }

  count(request: CountRequest): Promise<CountResult> {
    return this.#noticing(this.#reader.call('count', request))
  }

  vocabulary(request: VocabularyRequest): Promise<VocabularyResult> {
    return this.#noticing(this.#reader.call('vocabulary', request))
  }

  heldSnapshots(): HeldSnapshots {
    return this.#snapshots.held
  }

  snapshot(): Promise<SearchSnapshot> {
    return this.#noticing(this.#snapshots.open())
  }

  size(): Promise<number> {
    return this.#writer.call('size', undefined)
  }

  /** For tests: the file may grow to so many pages. */
  limitPages(pages: number): Promise<void> {
    return this.#writer.call('limitPages', pages)
  }

  async close(): Promise<void> {
    await this.#snapshots.close()
    await this.#documents.close()
    await this.#reader.close()
    await this.#writer.close() // the last connection moves the journal into the file, which a reader cannot
  }

  async #changing<Result>(call: Promise<Result>): Promise<Result> {
    const result = await call
    this.#ahead.want()
    return result
  }

  /** Most damage is met long after the file was opened: then the next start makes it anew. */
  async #noticing<Result>(call: Promise<Result>): Promise<Result> {
    try {
      return await call
    } catch (error) {
      if (isBackendStoreError(error, 'corrupt')) markDamaged(this.#file)
      throw error
    }
  }
}

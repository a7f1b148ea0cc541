/** A store in OpenSearch or Elasticsearch: all of it but the client (`opensearch/`, `elasticsearch/`). */
import type { NativeSearch } from '../../query/native-search.ts'
import type {
  CountRequest,
  CountResult,
  HeldSnapshots,
  SearchRequest,
  SearchResult,
  SearchSnapshot,
  VocabularyRequest,
  VocabularyResult,
} from '../../query/search-request.ts'
import type {
  BackendStore,
  Change,
  ManifestEntry,
  ObjectName,
  ShardDigest,
  ShardIdentity,
  StoreCapabilities,
  StoredShard,
  WriteSummary,
} from '../backend-store.ts'
import { BackendStoreError } from '../errors.ts'
import { WorkerClient } from '../worker-rpc.ts'
import { compareShard, digestOfShard, removeAll, shardQuery, storedShards } from './comparisons.ts'
import { pathOf, type EngineClient } from './engine-client.ts'
import { EngineError, isEngineError, toSearchError, toStoreError } from './engine-errors.ts'
import { Freshness } from './freshness.ts'
import { countIndex, searchIndex, vocabularyOfIndex } from './index-reader.ts'
import { IndexWriter } from './index-writer.ts'
import { IndexNames } from './index-names.ts'
import { Indices } from './indices.ts'
import { currentVersion, type IndexSettings } from './schema.ts'
import { searchNatively } from './native.ts'
import { EVERYTHING } from './query.ts'
import { searcherOf, type Searcher } from './searcher.ts'
import { EngineSnapshots } from './snapshots.ts'

export interface SearchEngineStoreOptions extends IndexSettings {
  readonly client: EngineClient
  /** `EngineStoreOptions`. */
  readonly installation: string
  /** For tests: as if documents or mapping were of this version. */
  readonly version?: string
}

export class SearchEngineStore implements BackendStore {
  readonly name: string
  readonly capabilities: StoreCapabilities = { atomicBatches: false, shared: true }
  readonly native: NativeSearch = {
    search: (request) => this.#fresh(() => searchNatively(this.#client, this.#indices.names, request), toSearchError),
    version: () => this.#run(async () => (await this.#version()) ?? { number: 'unknown' }, toStoreError),
  }
  readonly #client: EngineClient
  readonly #indices: Indices
  readonly #builder = new WorkerClient('search-engine/document-worker', undefined)
  readonly #writer: IndexWriter
  readonly #freshness: Freshness
  readonly #search: Searcher
  readonly #snapshots: EngineSnapshots
  readonly #running = new Set<Promise<unknown>>()
  #closed = false

  constructor({
    client,
    installation,
    version = currentVersion(client.flatType),
    ...settings
  }: SearchEngineStoreOptions) {
    this.name = client.name
    this.#client = client
    this.#indices = new Indices(client, new IndexNames(installation), settings, version)
    this.#writer = new IndexWriter(client, this.#indices, this.#builder)
    this.#freshness = new Freshness(client)
    this.#search = searcherOf(client, this.#indices.names.all)
    this.#snapshots = new EngineSnapshots(client, this.#indices.names.all)
  }

  write(batch: readonly Change[]): Promise<WriteSummary> {
    return this.#run(async () => {
      try {
        return await this.#writer.write(batch)
      } finally {
        for (const { kind } of batch) this.#freshness.written(this.#indices.names.alias(kind))
      }
    }, toStoreError)
  }

  compare(shard: ShardIdentity, manifest: AsyncIterable<readonly ManifestEntry[]>): Promise<readonly ObjectName[]> {
    return this.#fresh(async (search) => {
      const names = await compareShard(this.#client, search, this.#indices, shard, manifest)
      if (names.length > 0) {
        // Somebody may have written, or moved an index from where searches look: it is looked at anew.
        this.#writer.forget()
        this.#indices.forget()
      }
      return names
    }, asTheyAre)
  }

  digest(shard: ShardIdentity): Promise<ShardDigest> {
    return this.#fresh((search) => digestOfShard(search, this.#indices, shard))
  }

  dropShard(shard: Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>): Promise<void> {
    return this.#fresh(async () => {
      await removeAll(this.#client, this.#indices.names.all, shardQuery(shard))
      this.#writer.forget()
    })
  }

  clear(): Promise<void> {
    return this.#run(async () => {
      await this.#indices.remove()
      this.#writer.forget()
    }, toStoreError)
  }

  shards(): Promise<readonly StoredShard[]> {
    return this.#fresh((search) => storedShards(search, EVERYTHING))
  }

  search(request: SearchRequest): Promise<SearchResult> {
    return this.#fresh((search) => searchIndex(search, request), toSearchError)
  }

  count(request: CountRequest): Promise<CountResult> {
    return this.#fresh((search) => countIndex(search, request), toSearchError)
  }

  vocabulary(request: VocabularyRequest): Promise<VocabularyResult> {
    return this.#fresh((search) => vocabularyOfIndex(search, request), toSearchError)
  }

  snapshot(): Promise<SearchSnapshot> {
    return this.#fresh(async () => {
      const held = await this.#snapshots.open()
      return {
        search: (request: SearchRequest) => this.#run(() => held.search(request), toSearchError),
        close: () => (this.#closed ? held.close() : this.#run(() => held.close(), toStoreError)),
      }
    }, toSearchError)
  }

  heldSnapshots(): HeldSnapshots {
    return this.#snapshots.held
  }

  size(): Promise<number> {
    return this.#run(async () => {
      const stats = await this.#client.request<Stats>({
        method: 'GET',
        path: pathOf(this.#indices.names.all, '_stats', 'store'),
        query: { ignore_unavailable: true, allow_no_indices: true },
      })
      return stats._all?.primaries?.store?.size_in_bytes ?? 0
    }, toStoreError)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.allSettled(this.#running)
    await this.#snapshots.close()
    await this.#builder.close()
    await this.#client.close()
  }

  /**
   * Rejects with code `unsupported` where another engine answers, or one of another age. Who may not ask for its version
   * may still be allowed what matters.
   */
  async check(isSupported: (version: EngineVersion) => boolean): Promise<void> {
    await this.#run(async () => {
      const version = await this.#version()
      if (version === undefined || isSupported(version)) return
      const found = `${version.distribution ?? 'elasticsearch'} ${version.number}`
      throw new BackendStoreError('unsupported', `not a supported search engine: ${found} where ${this.name} should be`)
    }, toStoreError)
  }

  async #version(): Promise<EngineVersion | undefined> {
    try {
      const { version } = await this.#client.request<{ version: EngineVersion }>({ method: 'GET', path: '/' })
      const { number, distribution } = version
      return distribution === undefined ? { number } : { number, distribution }
    } catch (error) {
      if (isEngineError(error) && error.status === 403) return undefined
      throw error
    }
  }

  /** After whatever was written has become visible. */
  #fresh<Result>(work: (search: Searcher) => Promise<Result>, translate = toStoreError as Translate): Promise<Result> {
    return this.#run(async () => {
      await this.#freshness.settle()
      return work(this.#search)
    }, translate)
  }

  async #run<Result>(work: () => Promise<Result>, translate: Translate): Promise<Result> {
    if (this.#closed) throw new BackendStoreError('closed', 'the search store is closed')
    const running = work()
    this.#running.add(running)
    try {
      return await running
    } catch (error) {
      throw translate(error)
    } finally {
      this.#running.delete(running)
    }
  }
}

export interface EngineVersion {
  readonly number: string
  /** OpenSearch says that it is one; Elasticsearch says nothing. */
  readonly distribution?: string
}

interface Stats {
  readonly _all?: { readonly primaries?: { readonly store?: { readonly size_in_bytes?: number } } }
}

type Translate = (error: unknown) => unknown

/** What a caller's own manifest throws is his. */
function asTheyAre(error: unknown): unknown {
  return error instanceof EngineError ? toStoreError(error) : error
}

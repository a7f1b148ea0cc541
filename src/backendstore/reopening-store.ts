/**
 * A store that is opened when it is first needed and anew when that helps: at the next call after it could not be opened,
 * when how to open it changes, and when what is stored turns out damaged or its thread has ended. What is under way then
 * ends as it does; its caller tries again.
 */
import type { NativeSearch } from '../query/native-search.ts'
import type {
  CountRequest,
  CountResult,
  SearchRequest,
  SearchResult,
  HeldSnapshots,
  SearchSnapshot,
  VocabularyRequest,
  VocabularyResult,
} from '../query/search-request.ts'
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
} from './backend-store.ts'
import { BackendStoreError, isBackendStoreError } from './errors.ts'

export interface ReopeningStoreOptions {
  readonly name: string
  readonly capabilities: StoreCapabilities
  /** Whether the stores have `digest`, `clear` and `native`. */
  readonly engine: boolean
  /** Rejects with `BackendStoreError`. */
  readonly open: () => Promise<BackendStore>
  /** It was given up because of what happened to it: it may lack anything. */
  readonly onLost?: (error: BackendStoreError) => void
}

export class ReopeningStore implements BackendStore {
  readonly name: string
  readonly capabilities: StoreCapabilities
  readonly digest?: NonNullable<BackendStore['digest']>
  readonly clear?: NonNullable<BackendStore['clear']>
  readonly native?: NativeSearch
  /** There as soon as a store was opened that has it. */
  snapshot?: () => Promise<SearchSnapshot>
  /** Of the store that is open now, or was last. */
  heldSnapshots?: () => HeldSnapshots
  readonly #options: ReopeningStoreOptions
  #open: () => Promise<BackendStore>
  #current: Promise<BackendStore> | undefined
  /** Of those given up: they end before another is opened, for a file has one writer. */
  #closing: Promise<void> = Promise.resolve()
  #closed = false

  constructor(options: ReopeningStoreOptions) {
    this.#options = options
    this.#open = options.open
    this.name = options.name
    this.capabilities = options.capabilities
    if (options.engine) {
      this.digest = (shard) => this.use((store) => ownDigest(store, shard))
      this.clear = () => this.use((store) => store.clear?.() ?? Promise.resolve())
      this.native = {
        search: (request) => this.use((store) => nativeOf(store).search(request)),
        version: () => this.use((store) => nativeOf(store).version()),
      }
    }
  }

  /** From the next call on it is opened so. */
  reopenWith(open: () => Promise<BackendStore>): void {
    this.#open = open
    this.#release(this.#current)
  }

  /** Opens it now; rejects where that fails. */
  async ready(): Promise<void> {
    await this.use(() => Promise.resolve())
  }

  write(batch: readonly Change[]): Promise<WriteSummary> {
    return this.use((store) => store.write(batch))
  }

  compare(shard: ShardIdentity, manifest: AsyncIterable<readonly ManifestEntry[]>): Promise<readonly ObjectName[]> {
    return this.use((store) => store.compare(shard, manifest))
  }

  dropShard(shard: Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>): Promise<void> {
    return this.use((store) => store.dropShard(shard))
  }

  shards(): Promise<readonly StoredShard[]> {
    return this.use((store) => store.shards())
  }

  search(request: SearchRequest): Promise<SearchResult> {
    return this.use((store) => store.search(request))
  }

  count(request: CountRequest): Promise<CountResult> {
    return this.use((store) => store.count(request))
  }

  vocabulary(request: VocabularyRequest): Promise<VocabularyResult> {
    return this.use((store) => store.vocabulary(request))
  }

  size(): Promise<number> {
    return this.use((store) => store.size())
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#release(this.#current)
    await this.#closing
  }

  /** What only this kind of store can do. */
  async use<Result>(use: (store: BackendStore) => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new BackendStoreError('closed', 'the search store is closed')
    const opened = (this.#current ??= this.#opened())
    try {
      return await use(await opened)
    } catch (error) {
      this.#failed(error, opened)
      throw error
    }
  }

  async #opened(): Promise<BackendStore> {
    await this.#closing
    const store = await this.#open()
    if (store.snapshot !== undefined) this.snapshot = () => this.use(snapshotOf)
    if (store.heldSnapshots !== undefined) this.heldSnapshots = store.heldSnapshots.bind(store)
    return store
  }

  #failed(error: unknown, opened: Promise<BackendStore>): void {
    if (this.#current !== opened || this.#closed) return
    if (isBackendStoreError(error, 'corrupt') || isBackendStoreError(error, 'closed')) {
      this.#release(opened)
      this.#options.onLost?.(error)
      return
    }
    // Where opening failed, the next call tries again.
    opened.catch(() => {
      if (this.#current === opened) this.#current = undefined
    })
  }

  #release(opened: Promise<BackendStore> | undefined): void {
    if (opened === undefined) return
    this.#current = undefined
    const before = this.#closing
    this.#closing = opened
      .then((store) => store.close())
      .then(
        () => before,
        () => before, // what cannot be closed is given up
      )
  }
}

function ownDigest(store: BackendStore, shard: ShardIdentity): Promise<ShardDigest | undefined> {
  return store.digest?.(shard) ?? Promise.resolve(undefined)
}

function snapshotOf(store: BackendStore): Promise<SearchSnapshot> {
  if (store.snapshot === undefined) throw new BackendStoreError('unsupported', 'this store holds no states')
  return store.snapshot()
}

function nativeOf(store: BackendStore): NativeSearch {
  if (store.native === undefined) throw new BackendStoreError('unsupported', 'this store is no search engine')
  return store.native
}

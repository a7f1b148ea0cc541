/** Which store search answers from (`--search-store`), and how far that is behind the cache. */
import type { EngineMirror } from '../backendstore/engine-mirror.ts'
import { isStatusError, StatusError } from '../kube/status-error.ts'
import type {
  CountRequest,
  CountResult,
  HeldSnapshots,
  SearchRequest,
  SearchResult,
  SearchSnapshot,
  SearchStore,
  VocabularyRequest,
  VocabularyResult,
} from '../query/search-request.ts'
import type { IndexStatus } from '../search/search-parts.ts'
import type { SearchStoreMode } from './options/config.ts'
import type { OwnIndex } from './own-index.ts'

export interface SearchSource {
  readonly store: SearchStore
  /** Undefined where another replica writes to it. */
  status(): IndexStatus | undefined
  /** Resolves when it has all that the cache has; at once where another replica writes to it. */
  caughtUp(): Promise<void>
}

export function ownSource({ store, writer }: OwnIndex): SearchSource {
  return { store, status: () => writer.status(), caughtUp: () => writer.caughtUp() }
}

/** `searched`: the mirror that search answers from at the moment. Without one, and where there is no store, all is 503. */
export function mirrorSource(mode: Exclude<SearchStoreMode, 'embedded'>, searched: () => EngineMirror | undefined) {
  const store = new MirrorStore(() => {
    const mirror = searched()
    if (mirror !== undefined) return mirror.store
    throw new StatusError('serviceUnavailable', NOBODY[mode])
  })
  return {
    store,
    status() {
      const mirror = searched()
      return mirror?.writing === true ? mirror.status() : undefined
    },
    async caughtUp() {
      await searched()?.writer.caughtUp()
    },
  } satisfies SearchSource
}

const NOBODY = {
  off: 'there is no search store (--search-store=off)',
  registry: 'no ResourceRegistry names a search engine to search in (--search-store=registry)',
} as const

const NONE_HELD = { now: 0, most: 0 }

class MirrorStore implements SearchStore {
  readonly #current: () => SearchStore

  /** Throws `StatusError` where there is none. */
  constructor(current: () => SearchStore) {
    this.#current = current
  }

  async search(request: SearchRequest): Promise<SearchResult> {
    return this.#current().search(request)
  }

  async count(request: CountRequest): Promise<CountResult> {
    return this.#current().count(request)
  }

  async vocabulary(request: VocabularyRequest): Promise<VocabularyResult> {
    return this.#current().vocabulary(request)
  }

  /** Of none there are none. */
  heldSnapshots(): HeldSnapshots {
    try {
      return this.#current().heldSnapshots?.() ?? NONE_HELD
    } catch (error) {
      if (!isStatusError(error)) throw error
      return NONE_HELD
    }
  }

  async snapshot(): Promise<SearchSnapshot> {
    const store = this.#current()
    if (store.snapshot === undefined) throw new StatusError('notImplemented', 'the search store cannot hold a state')
    return store.snapshot()
  }
}

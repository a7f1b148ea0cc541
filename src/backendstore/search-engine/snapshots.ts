/**
 * States of the indices that are held for exports, each a point in time of the engine, which keeps what was deleted since on
 * its disks. At most 16 at once: an engine itself refuses more than 300 to all of its clients together. Each is given back
 * once: when it is closed, two minutes after its last search, or with the store; one that nobody could give back (we were
 * killed, the engine did not answer) the engine forgets after five minutes.
 */
import { StatusError } from '../../kube/status-error.ts'
import type { HeldSnapshots, SearchRequest, SearchResult, SearchSnapshot } from '../../query/search-request.ts'
import type { EngineClient } from './engine-client.ts'
import { isEngineError } from './engine-errors.ts'
import { searchIndex } from './index-reader.ts'
import { searcherOf } from './searcher.ts'

const MAX_HELD = 16
const IDLE_MS = 120_000
const KEEP_ALIVE = '5m'

export class EngineSnapshots {
  readonly #client: EngineClient
  readonly #indices: string
  readonly #held = new Set<EngineSnapshot>()
  #opening = 0

  constructor(client: EngineClient, indices: string) {
    this.#client = client
    this.#indices = indices
  }

  get held(): HeldSnapshots {
    return { now: this.#held.size + this.#opening, most: MAX_HELD }
  }

  /** Rejects with `tooManyRequests` where too many are held. */
  async open(): Promise<SearchSnapshot> {
    if (this.#held.size + this.#opening >= MAX_HELD) {
      const details = { retryAfterSeconds: 10 }
      throw new StatusError('tooManyRequests', `${MAX_HELD} exports of a snapshot are under way`, { details })
    }
    this.#opening += 1
    try {
      const id = await this.#client.openPointInTime(this.#indices, KEEP_ALIVE)
      const held = new EngineSnapshot(this.#client, this.#indices, id, () => this.#held.delete(held))
      this.#held.add(held)
      return held
    } catch (error) {
      // Elasticsearch holds no state of nothing; OpenSearch does.
      if (isEngineError(error, 'index_not_found_exception')) return NOTHING_HELD
      throw error
    } finally {
      this.#opening -= 1
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#held].map((held) => held.close()))
  }
}

/** Of an engine without an index of ours. */
const NOTHING_HELD: SearchSnapshot = {
  search: (request) => searchIndex(() => Promise.resolve(NOTHING_FOUND), request),
  close: () => Promise.resolve(),
}

const NOTHING_FOUND = { hits: { total: { value: 0 }, hits: [] }, timed_out: false }

class EngineSnapshot implements SearchSnapshot {
  readonly #client: EngineClient
  readonly #indices: string
  /** An engine may answer a search with another one, by which the state is told from then on. */
  #id: string
  readonly #onClose: () => void
  #idle: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined

  constructor(client: EngineClient, indices: string, id: string, onClose: () => void) {
    this.#client = client
    this.#indices = indices
    this.#id = id
    this.#onClose = onClose
    this.#closeLater()
  }

  async search(request: SearchRequest): Promise<SearchResult> {
    if (this.#closing !== undefined) throw new StatusError('expired', 'the snapshot was given back: too long unread')
    clearTimeout(this.#idle)
    try {
      const state = { id: this.#id, keepAlive: KEEP_ALIVE, onRenewed: (id: string) => (this.#id = id) }
      return await searchIndex(searcherOf(this.#client, this.#indices, state), request)
    } finally {
      this.#closeLater()
    }
  }

  close(): Promise<void> {
    clearTimeout(this.#idle)
    this.#closing ??= this.#client.closePointInTime(this.#id).finally(this.#onClose)
    return this.#closing
  }

  #closeLater(): void {
    if (this.#closing !== undefined) return
    clearTimeout(this.#idle) // of another search that ended meanwhile
    this.#idle = setTimeout(() => void this.close().catch(() => undefined), IDLE_MS).unref()
  }
}

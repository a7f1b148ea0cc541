/** States of the file that are held for exports, each by a reader of its own: about 15 MB, and the journal grows meanwhile. */
import { StatusError } from '../../kube/status-error.ts'
import type { HeldSnapshots, SearchRequest, SearchResult, SearchSnapshot } from '../../query/search-request.ts'
import type { ReaderData } from './reader-worker.ts'
import { WorkerClient } from '../worker-rpc.ts'

const MAX_HELD = 4
/** A client that reads no more keeps the journal from being moved into the file. */
const IDLE_MS = 120_000

export class Snapshots {
  readonly #file: string
  readonly #held = new Set<HeldSnapshot>()
  #opening = 0

  constructor(file: string) {
    this.#file = file
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
    const reader = new WorkerClient('sqlite/reader-worker', { file: this.#file, held: true } satisfies ReaderData)
    try {
      await reader.call('ready', undefined)
    } catch (error) {
      await reader.close()
      throw error
    } finally {
      this.#opening -= 1
    }
    const held = new HeldSnapshot(reader, () => this.#held.delete(held))
    this.#held.add(held)
    return held
  }

  async close(): Promise<void> {
    await Promise.all([...this.#held].map((held) => held.close()))
  }
}

class HeldSnapshot implements SearchSnapshot {
  readonly #reader: WorkerClient
  readonly #onClose: () => void
  #idle: NodeJS.Timeout

  constructor(reader: WorkerClient, onClose: () => void) {
    this.#reader = reader
    this.#onClose = onClose
    this.#idle = this.#closeLater()
  }

  async search(request: SearchRequest): Promise<SearchResult> {
    clearTimeout(this.#idle)
    try {
      return await this.#reader.call('search', request)
    } finally {
      this.#idle = this.#closeLater()
    }
  }

  close(): Promise<void> {
    clearTimeout(this.#idle)
    this.#onClose()
    return this.#reader.close()
  }

  #closeLater(): NodeJS.Timeout {
    return setTimeout(() => void this.close().catch(() => undefined), IDLE_MS).unref()
  }
}

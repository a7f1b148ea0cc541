/**
 * One watch of etcd for all watchers of this process, so that etcd has as little to do with a thousand watchers as with
 * one. Recent events are kept: whoever resumes within them is served from memory, whoever goes further back has a watch
 * of etcd of its own until it has caught up.
 */
import { versionTooOld } from '../errors.ts'
import { EventQueue } from '../event-queue.ts'
import type { Batch } from './follow.ts'
import type { EtcdEvent } from './messages.ts'

export interface WatchHubOptions {
  /** Events behind `from`; throws `expired` where they are gone, and never for what a retry may mend. */
  readonly follow: (from: bigint, signal: AbortSignal) => AsyncIterable<Batch>
  /** Default 1,000, as registries change a few times a day. */
  readonly keptEvents?: number
  /** Of keys' values, old and new. Default 16 MiB. */
  readonly keptBytes?: number
}

export interface HubItem {
  readonly revision: bigint
  /** Undefined: everything up to the revision was told. */
  readonly event: EtcdEvent | undefined
}

const KEPT_EVENTS = 1_000
const KEPT_BYTES = 16 * 1024 * 1024

export class WatchHub {
  readonly #follow: WatchHubOptions['follow']
  readonly #keptEvents: number
  readonly #keptBytes: number
  readonly #watchers = new Set<EventQueue<HubItem>>()
  #stopping: AbortController | undefined
  #ended: Promise<void> = Promise.resolve()
  /** All events behind `#base`, oldest first. */
  #window: EtcdEvent[] = []
  #bytes = 0
  #base = 0n

  constructor({ follow, keptEvents = KEPT_EVENTS, keptBytes = KEPT_BYTES }: WatchHubOptions) {
    this.#follow = follow
    this.#keptEvents = keptEvents
    this.#keptBytes = keptBytes
  }

  /** Ends when the signal aborts. Throws `expired`. */
  async *watch(from: bigint, signal: AbortSignal): AsyncGenerator<HubItem> {
    let at = from
    while (!signal.aborted) {
      if (this.#stopping === undefined) this.#start(at)
      if (at >= this.#base) return yield* this.#shared(at, signal)
      for await (const batch of this.#follow(at, signal)) {
        yield* itemsOf(batch)
        at = batch.revision
        if (this.#stopping === undefined || at >= this.#base) break
      }
    }
  }

  /** Resolves when the watch of etcd is closed. */
  async close(): Promise<void> {
    this.#stop()
    await this.#ended
  }

  async *#shared(from: bigint, signal: AbortSignal): AsyncGenerator<HubItem> {
    const queue = new EventQueue<HubItem>(this.#keptEvents)
    for (const event of this.#window) queue.push({ revision: event.kv.modRevision, event })
    this.#watchers.add(queue)
    try {
      for await (const item of queue.drain(signal, () => versionTooOld(String(from), 'the reader is too slow'))) {
        if (item.revision > from) yield item
      }
    } finally {
      this.#watchers.delete(queue)
      if (this.#watchers.size === 0) this.#stop()
    }
  }

  #start(from: bigint): void {
    const stopping = new AbortController()
    this.#stopping = stopping
    this.#base = from
    this.#ended = this.#run(from, stopping.signal).catch((error: unknown) => {
      if (this.#stopping !== stopping) return
      const watchers = [...this.#watchers]
      this.#watchers.clear()
      this.#stop()
      for (const watcher of watchers) watcher.fail(error)
    })
  }

  #stop(): void {
    this.#stopping?.abort(new Error('no watchers'))
    this.#stopping = undefined
    this.#window = []
    this.#bytes = 0
  }

  async #run(from: bigint, signal: AbortSignal): Promise<void> {
    for await (const batch of this.#follow(from, signal)) {
      if (signal.aborted) return
      for (const item of itemsOf(batch)) {
        if (item.event !== undefined) this.#keep(item.event)
        for (const watcher of this.#watchers) watcher.push(item)
      }
    }
  }

  #keep(event: EtcdEvent): void {
    this.#window.push(event)
    this.#bytes += sizeOf(event)
    while (this.#window.length > this.#keptEvents || this.#bytes > this.#keptBytes) {
      const forgotten = this.#window.shift()
      if (forgotten === undefined) return
      this.#bytes -= sizeOf(forgotten)
      this.#base = forgotten.kv.modRevision
    }
  }
}

function itemsOf({ events, revision }: Batch): HubItem[] {
  if (events.length === 0) return [{ revision, event: undefined }]
  return events.map((event) => ({ revision: event.kv.modRevision, event }))
}

function sizeOf({ kv, previous }: EtcdEvent): number {
  return kv.value.length + (previous?.value.length ?? 0)
}

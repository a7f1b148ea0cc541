/**
 * WATCH as a kube-apiserver answers it: one JSON object a line; objects that enter or leave the selection are ADDED and
 * DELETED; bookmarks on a timer, at the end of the initial events and shortly before the time-out.
 */
import type { ServerResponse } from 'node:http'
import type { Status } from '../../kube/status-error.ts'
import type { Clock } from '../../util/clock.ts'
import type { Face } from './face.ts'
import type { ObjectStore, StoreEvent } from './object-store.ts'
import type { ResourceType } from './resource-type.ts'
import type { Selection } from './selection.ts'
import type { StoredObject } from './stored-object.ts'

export interface WatchOptions {
  readonly type: ResourceType
  readonly namespace: string
  readonly selection: Selection
  readonly face: Face
  /** Undefined: begin with the present objects as ADDED. */
  readonly from: number | undefined
  /** End the initial events with an annotated bookmark (`sendInitialEvents`). */
  readonly initialEventsEnd: boolean
  readonly bookmarks: boolean
  readonly timeoutMs: number
  readonly bookmarkIntervalMs: number
}

/** What a watcher has not read yet; beyond it the watch is cut, as an API server cuts slow watchers. */
const MAX_BACKLOG_BYTES = 16 << 20

/** The last bookmark comes this long before the time-out, so that a resumed watch starts at a recent version. */
const LAST_BOOKMARK_MS = 2_000

export class WatchStream {
  readonly type: ResourceType
  readonly namespace: string
  readonly #store: ObjectStore
  readonly #options: WatchOptions
  readonly #response: ServerResponse
  readonly #stops: (() => void)[] = []
  #delivered: number
  #held: string[] | undefined

  /** Starts at once; throws 410 where the history does not reach back. */
  constructor(store: ObjectStore, options: WatchOptions, response: ServerResponse, clock: Clock) {
    this.type = options.type
    this.namespace = options.namespace
    this.#store = store
    this.#options = options
    this.#response = response
    this.#delivered = options.from ?? store.version
    const missed = options.from === undefined ? [] : store.eventsSince(options.type, options.from)
    response.once('close', () => {
      this.#stop()
    })
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' })
    response.flushHeaders()
    if (options.from === undefined) this.#sendInitial()
    for (const event of missed) this.#send(event)
    this.#stops.push(
      store.subscribe(options.type, (event) => {
        this.#send(event)
      }),
    )
    this.#startTimers(clock)
  }

  /** Sends a bookmark of the present version, whether the client asked for bookmarks or not. */
  bookmark(): void {
    this.#sendBookmark({})
  }

  /** Sends an ERROR event and ends, as a server does that finds the version gone in mid-stream. */
  fail(status: Status): void {
    this.#write(`{"type":"ERROR","object":${JSON.stringify(status)}}\n`)
    this.end()
  }

  /** Ends cleanly. */
  end(): void {
    this.#stop()
    this.#response.end()
  }

  /** Breaks the connection, after a part of a line if one is given. */
  cut(partialLine = ''): void {
    this.#stop()
    if (partialLine === '') this.#response.destroy()
    else
      this.#response.write(partialLine, () => {
        this.#response.destroy()
      })
  }

  /** Keeps the connection open and says nothing more until `resume`: what a half-open connection looks like. */
  hold(): void {
    this.#held ??= []
  }

  resume(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const line of held) this.#write(line)
  }

  #sendInitial(): void {
    for (const object of this.#store.list(this.type)) {
      if (this.#options.selection.matches(object)) this.#line('ADDED', this.#options.face.object(object))
    }
    if (this.#options.initialEventsEnd) this.#sendBookmark({ annotations: { 'k8s.io/initial-events-end': 'true' } })
  }

  #send(event: StoreEvent): void {
    // A watch from a future version hears nothing until the store gets there.
    if (event.version <= this.#delivered) return
    this.#delivered = event.version
    const { matches } = this.#options.selection
    const before = event.previous !== undefined && matches(event.previous)
    const now = event.type !== 'DELETED' && matches(event.object)
    if (now) this.#line(before ? 'MODIFIED' : 'ADDED', this.#options.face.object(event.object))
    else if (before) this.#line('DELETED', this.#options.face.object(lastState(event)))
  }

  #sendBookmark(extra: { annotations?: Record<string, string> }): void {
    const metadata = { resourceVersion: String(Math.max(this.#store.version, this.#delivered)), ...extra }
    this.#line('BOOKMARK', this.#options.face.bookmark(metadata))
  }

  #line(type: string, object: string): void {
    this.#write(`{"type":"${type}","object":${object}}\n`)
  }

  #write(line: string): void {
    if (this.#held !== undefined) {
      this.#held.push(line)
      return
    }
    this.#response.write(line)
    if (this.#response.writableLength > MAX_BACKLOG_BYTES) this.cut()
  }

  #startTimers(clock: Clock): void {
    const { bookmarks, bookmarkIntervalMs, timeoutMs } = this.#options
    this.#stops.push(
      clock.setTimeout(() => {
        this.end()
      }, timeoutMs),
    )
    if (!bookmarks) return
    const last = timeoutMs - LAST_BOOKMARK_MS
    if (last > 0)
      this.#stops.push(
        clock.setTimeout(() => {
          this.bookmark()
        }, last),
      )
    let cancel: () => void
    const repeat = (): void => {
      cancel = clock.setTimeout(() => {
        this.bookmark()
        repeat()
      }, bookmarkIntervalMs)
    }
    repeat()
    this.#stops.push(() => {
      cancel()
    })
  }

  #stop(): void {
    for (const stop of this.#stops.splice(0)) stop()
  }
}

/** Leaving the selection shows the last state that was in it, under the version of the change that took it out. */
function lastState(event: StoreEvent): StoredObject {
  if (event.type === 'DELETED' || event.previous === undefined) return event.object
  return event.previous.at(event.version)
}

/** The wire of a watch: one JSON line for each event, written with back-pressure, several lines at once. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { drained } from './body-writer.ts'
import { cutOff } from './connection.ts'
import type { Status } from '../kube/status-error.ts'
import type { Clock } from '../util/clock.ts'

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'

const PREFIXES = Object.fromEntries(
  (['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR'] as const).map((type) => [
    type,
    Buffer.from(`{"type":"${type}","object":`),
  ]),
) as Record<EventType, Buffer>
const SUFFIX = Buffer.from('}\n')

/** Larger batches are written in parts, so that a reader that starts late does not hold a copy of everything. */
const WRITE_BYTES = 256 * 1024

/** A client that has not taken what was written to it after so long is not worth the memory it holds. */
const GRACE_MS = 5_000

export class EventStream {
  readonly #response: ServerResponse
  /** `flush` waits for the client. */
  #waiting = false
  #cancelCut: (() => void) | undefined
  #pending: Uint8Array[] = []
  #bytes = 0

  /** Sends the head at once: a client knows that its watch stands before anything happens. */
  constructor(response: ServerResponse, headers: OutgoingHttpHeaders) {
    this.#response = response
    response.writeHead(200, { 'cache-control': 'no-cache, private', 'content-type': 'application/json', ...headers })
    response.flushHeaders()
  }

  /** Queues an event; `object` is JSON on one line and copied by `flush`. */
  push(type: EventType, object: Uint8Array): void {
    this.#pending.push(PREFIXES[type], object, SUFFIX)
    this.#bytes += object.length
  }

  error(status: Status): void {
    this.push('ERROR', Buffer.from(JSON.stringify(status)))
  }

  /** More is queued than one write should take. */
  get full(): boolean {
    return this.#bytes >= WRITE_BYTES
  }

  /** Writes what is queued; resolves when the client has room for more. Rejects with `ClientGoneError`. */
  async flush(): Promise<void> {
    if (this.#pending.length === 0) return
    const lines = Buffer.concat(this.#pending)
    this.#pending = []
    this.#bytes = 0
    if (this.#response.write(lines)) return
    this.#waiting = true
    try {
      await drained(this.#response, this.#response)
    } finally {
      this.#waiting = false
      this.#cancelCut?.()
      this.#cancelCut = undefined
    }
  }

  /** The watch is over: a client that does not take what it was sent is cut off instead of waited for. */
  giveUp(clock: Clock): void {
    if (!this.#waiting || this.#cancelCut !== undefined) return
    this.#cancelCut = clock.setTimeout(() => {
      cutOff(this.#response)
    }, GRACE_MS)
  }

  /** Ends with what is still queued. */
  end(): void {
    this.#response.end(Buffer.concat(this.#pending))
    this.#pending = []
  }
}

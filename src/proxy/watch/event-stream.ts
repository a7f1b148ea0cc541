/** The wire of a watch: one JSON line for each event, written with back-pressure, several lines at once. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { drained } from '../../http/body-writer.ts'
import type { Status } from '../../kube/status-error.ts'

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

export class EventStream {
  readonly #response: ServerResponse
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
    if (!this.#response.write(lines)) await drained(this.#response, this.#response)
  }

  end(): void {
    this.#response.end()
  }
}

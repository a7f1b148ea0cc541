/**
 * Writes one answer's body: copies what it is given into chunks, sends them with back-pressure, compresses on request.
 * Small answers go out in one piece with a Content-Length.
 */
import { once } from 'node:events'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, gzip as gzipCallback } from 'node:zlib'
import { parseQuality } from './accept-encoding.ts'
import { Breather } from './breather.ts'
import { isGone } from './connection.ts'

const gzipOnce = promisify(gzipCallback)

/** 128 KiB: large enough that a write's fixed cost (about 10 µs) vanishes, small enough to stay off the large heap. */
const CHUNK_BYTES = 128 * 1024

/** Below it compression costs more time than it saves on any network (a kube-apiserver takes 128 KiB). */
const GZIP_MIN_BYTES = 16 * 1024

/** Level 1: five times faster than the default for a tenth more bytes on Kubernetes JSON. */
const GZIP_OPTIONS = { level: constants.Z_BEST_SPEED } as const

export interface BodyOptions {
  readonly status?: number
  /** `content-type` and what else the answer says of itself. */
  readonly headers: OutgoingHttpHeaders
}

/** The client went away while its answer was written: nobody's fault, nothing is left to do. */
export class ClientGoneError extends Error {
  constructor() {
    super('the client is gone')
    this.name = 'ClientGoneError'
  }
}

export class BodyWriter {
  readonly #response: ServerResponse
  readonly #options: BodyOptions
  readonly #gzip: boolean
  readonly #breather = new Breather()
  #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  #used = 0
  /** Where chunks go once the head is sent: the response, or the compressor in front of it. */
  #sink: Writable | undefined
  #compressed: Promise<void> | undefined
  #draining = false
  #turn = false

  constructor(request: IncomingMessage, response: ServerResponse, options: BodyOptions) {
    this.#response = response
    this.#options = options
    this.#gzip = parseQuality(request.headers['accept-encoding'], 'gzip') > 0
  }

  /** Copies `bytes`: the caller may reuse them at once. */
  write(bytes: Uint8Array): void {
    let from = 0
    while (from < bytes.length) {
      const count = Math.min(bytes.length - from, CHUNK_BYTES - this.#used)
      this.#chunk.set(from === 0 && count === bytes.length ? bytes : bytes.subarray(from, from + count), this.#used)
      this.#used += count
      from += count
      if (this.#used === CHUNK_BYTES) this.#send()
    }
    this.worked(bytes.length)
  }

  writeText(text: string): void {
    this.write(Buffer.from(text, 'utf8'))
  }

  /** Counts work that wrote nothing (a parsed object that a selector left out). */
  worked(bytes: number): void {
    if (this.#breather.spent(bytes)) this.#turn = true
  }

  /**
   * Call between pieces: undefined when more may be written at once, else a promise to await. Rejects with
   * `ClientGoneError` when nobody reads any more.
   */
  ready(): Promise<void> | undefined {
    if (isGone(this.#response)) return Promise.reject(new ClientGoneError())
    if (this.#draining) return this.#drained()
    if (!this.#turn) return undefined
    this.#turn = false
    return this.#breather.pause()
  }

  async end(): Promise<void> {
    if (isGone(this.#response)) throw new ClientGoneError()
    if (this.#sink === undefined) return this.#endWhole()
    if (this.#used > 0) this.#send()
    if (this.#sink !== this.#response) {
      this.#sink.end()
      await this.#compressed
    }
    await endResponse(this.#response)
  }

  async #endWhole(): Promise<void> {
    const body = this.#chunk.subarray(0, this.#used)
    const compress = this.#gzip && body.length >= GZIP_MIN_BYTES
    const bytes = compress ? await gzipOnce(body, GZIP_OPTIONS) : body
    this.#response.writeHead(this.#options.status ?? 200, {
      ...this.#headers(compress),
      'content-length': bytes.length,
    })
    await endResponse(this.#response, bytes)
  }

  #send(): void {
    this.#sink ??= this.#open()
    if (!this.#sink.write(this.#chunk.subarray(0, this.#used))) this.#draining = true
    this.#chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
    this.#used = 0
  }

  #open(): Writable {
    this.#response.writeHead(this.#options.status ?? 200, this.#headers(this.#gzip))
    if (!this.#gzip) return this.#response
    const gzip = createGzip({ ...GZIP_OPTIONS, chunkSize: CHUNK_BYTES })
    this.#compressed = pump(gzip, this.#response)
    this.#compressed.catch(() => undefined) // reported by `ready` and `end`, which look at the response
    return gzip
  }

  #headers(compressed: boolean): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = { 'cache-control': 'no-cache, private', ...this.#options.headers }
    if (!compressed) return headers
    const vary = headers.vary === undefined ? 'Accept-Encoding' : `${headers.vary}, Accept-Encoding`
    return { ...headers, 'content-encoding': 'gzip', vary }
  }

  async #drained(): Promise<void> {
    if (this.#sink !== undefined) await drained(this.#sink, this.#response)
    this.#draining = false
  }
}

/** Moves the compressor's output to the response, never ahead of the reader. */
async function pump(from: AsyncIterable<Buffer> & Writable, to: ServerResponse): Promise<void> {
  try {
    for await (const chunk of from) {
      if (isGone(to)) break
      if (!to.write(chunk)) await drained(to, to)
    }
  } finally {
    from.destroy()
  }
}

/** Waits until `sink` takes more; rejects with `ClientGoneError` if the response closes first. */
export async function drained(sink: Writable, response: ServerResponse): Promise<void> {
  if (isGone(response)) throw new ClientGoneError()
  if (!sink.writableNeedDrain) return
  const settled = new AbortController()
  const { signal } = settled
  try {
    await Promise.race([once(sink, 'drain', { signal }), once(response, 'close', { signal })])
  } finally {
    settled.abort()
  }
  if (isGone(response)) throw new ClientGoneError()
}

/** Ends a response and waits until everything is handed to the socket, or the client is gone. */
async function endResponse(response: ServerResponse, bytes?: Uint8Array): Promise<void> {
  const settled = new AbortController()
  const { signal } = settled
  const finished = Promise.race([once(response, 'finish', { signal }), once(response, 'close', { signal })])
  if (bytes === undefined) response.end()
  else response.end(bytes)
  try {
    await finished
  } finally {
    settled.abort()
  }
}

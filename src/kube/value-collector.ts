/**
 * Finds where one JSON value ends in a stream of chunks, and gives its bytes: a view of the chunk where it came whole, else
 * a copy. It follows brackets and strings only; whether the value is JSON is for its reader to find out.
 */
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE, isBlank } from './json-bytes.ts'

export class ValueCollector {
  readonly #maxBytes: number
  /** Parts of earlier chunks. */
  #parts: Buffer[] = []
  #partBytes = 0
  /** Open brackets; a string or scalar at the top has none. */
  #depth = 0
  #inString = false
  #escaped = false
  #scalar = false
  #firstChildEnd = -1

  /** A value of more bytes is `tooLarge`. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes of the unfinished value so far. */
  get pending(): number {
    return this.#partBytes
  }

  /** Where the first bracket inside the value that was last taken closed: behind it, from the value's start; or -1. */
  get firstChildEnd(): number {
    return this.#firstChildEnd
  }

  /** Prepares for a value that begins with that byte. */
  begin(byte: number): void {
    this.#parts = []
    this.#partBytes = 0
    this.#depth = 0
    this.#inString = false
    this.#escaped = false
    this.#scalar = byte !== QUOTE && byte !== OPEN_BRACE && byte !== OPEN_BRACKET
    this.#firstChildEnd = -1
  }

  /** Position in the chunk behind the value, -1 where it goes on in the next one, which is then to be read from 0. */
  feed(chunk: Buffer, from: number): number {
    const end = this.#scalar ? scalarEnd(chunk, from) : this.#bracketedEnd(chunk, from)
    if (end === -1) this.#keep(chunk.subarray(from))
    return end
  }

  /** The value that ended at `end` of this chunk; undefined where it is too large. */
  take(chunk: Buffer, from: number, end: number): Buffer | undefined {
    if (this.#partBytes + end - from > this.#maxBytes) return undefined
    const last = chunk.subarray(from, end)
    if (this.#parts.length === 0) return last
    const whole = Buffer.concat([...this.#parts, last])
    this.#parts = []
    this.#partBytes = 0
    return whole
  }

  /** Too much has come already, though the value goes on. */
  get tooLarge(): boolean {
    return this.#partBytes > this.#maxBytes
  }

  #keep(part: Buffer): void {
    this.#partBytes += part.length
    this.#parts.push(Buffer.from(part))
  }

  #bracketedEnd(chunk: Buffer, from: number): number {
    let i = from
    while (i < chunk.length) {
      if (this.#inString) {
        i = this.#stringEnd(chunk, i)
        if (i === -1) return -1
        if (this.#depth === 0) return i
        continue
      }
      i = nextMark(chunk, i)
      if (i === chunk.length) return -1
      const byte = chunk[i] as number
      i++
      if (byte === QUOTE) this.#inString = true
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++
      else if (this.#close(i - from)) return i
    }
    return -1
  }

  /** True where the last bracket closed. `at` is behind it, counted from this chunk's part. */
  #close(at: number): boolean {
    this.#depth--
    if (this.#depth === 1 && this.#firstChildEnd === -1) this.#firstChildEnd = this.#partBytes + at
    return this.#depth === 0
  }

  /** Behind the closing quote, -1 where the chunk ends first. */
  #stringEnd(chunk: Buffer, from: number): number {
    let i = this.#escaped ? from + 1 : from
    this.#escaped = false
    for (;;) {
      i = quoteOrBackslash(chunk, i)
      if (i >= chunk.length) return -1
      if (chunk[i] === QUOTE) break
      this.#escaped = i + 1 === chunk.length
      i += 2 // the backslash and what it escapes
    }
    this.#inString = false
    return i + 1
  }
}

/** The next quote or bracket, or the chunk's length. */
function nextMark(chunk: Buffer, from: number): number {
  const end = chunk.length
  for (let i = from; i < end; i++) {
    const byte = chunk[i] as number
    if (byte === QUOTE || byte === OPEN_BRACE || byte === CLOSE_BRACE) return i
    if (byte === OPEN_BRACKET || byte === CLOSE_BRACKET) return i
  }
  return end
}

/** The next quote or backslash, or the chunk's length. */
function quoteOrBackslash(chunk: Buffer, from: number): number {
  const end = chunk.length
  let i = from
  for (; i < end - 2; i += 3) {
    const a = chunk[i] as number
    if (a === QUOTE || a === BACKSLASH) return i
    const b = chunk[i + 1] as number
    if (b === QUOTE || b === BACKSLASH) return i + 1
    const c = chunk[i + 2] as number
    if (c === QUOTE || c === BACKSLASH) return i + 2
  }
  for (; i < end; i++) {
    if (chunk[i] === QUOTE || chunk[i] === BACKSLASH) return i
  }
  return end
}

/** A number or literal ends before what separates values. */
function scalarEnd(chunk: Buffer, from: number): number {
  for (let i = from; i < chunk.length; i++) {
    const byte = chunk[i] as number
    if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isBlank(byte)) return i
  }
  return -1
}

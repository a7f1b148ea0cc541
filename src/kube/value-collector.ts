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
    const end = chunk.length
    let i = this.#inString ? this.#resumeString(chunk, from) : from
    if (i === -1 || (this.#depth === 0 && i > from)) return i
    let depth = this.#depth
    while (i < end) {
      const byte = chunk[i] as number
      i++
      // Brackets and braces are alike but for one bit; most other bytes between strings are below or above them.
      if (byte === QUOTE) {
        const close = skipToQuote(chunk, i)
        if (close >= end) {
          this.#inString = true
          this.#escaped = close > end
          break
        }
        i = close + 1
        if (depth === 0) return i
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        depth++
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        depth--
        if (depth === 1 && this.#firstChildEnd === -1) this.#firstChildEnd = this.#partBytes + i - from
        if (depth <= 0) return i
      }
    }
    this.#depth = depth
    return -1
  }

  /** Behind the string that an earlier chunk began, -1 where it goes on in the next one. */
  #resumeString(chunk: Buffer, from: number): number {
    const close = skipToQuote(chunk, this.#escaped ? from + 1 : from)
    this.#escaped = close > chunk.length
    if (close >= chunk.length) return -1
    this.#inString = false
    return close + 1
  }
}

/** The quote that ends a string; the length where the chunk ends first, one more where it ends behind a backslash. */
function skipToQuote(chunk: Buffer, from: number): number {
  const end = chunk.length
  let i = from
  for (;;) {
    // As in skipString (json-bytes.ts): three bytes a turn.
    for (; i < end - 2; i += 3) {
      const a = chunk[i] as number
      if (a === QUOTE || a === BACKSLASH) break
      const b = chunk[i + 1] as number
      if (b === QUOTE || b === BACKSLASH) {
        i += 1
        break
      }
      const c = chunk[i + 2] as number
      if (c === QUOTE || c === BACKSLASH) {
        i += 2
        break
      }
    }
    while (i < end && chunk[i] !== QUOTE && chunk[i] !== BACKSLASH) i++
    if (i >= end || chunk[i] === QUOTE) return i
    i += 2 // the backslash and what it escapes
  }
}

/** A number or literal ends before what separates values. */
function scalarEnd(chunk: Buffer, from: number): number {
  for (let i = from; i < chunk.length; i++) {
    const byte = chunk[i] as number
    if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isBlank(byte)) return i
  }
  return -1
}

/**
 * Takes a LIST body apart while it arrives: each item is handed on as soon as it is whole, so that a list of any size needs
 * the memory of one object. Items are not looked into: `canonicalize` finds what is wrong inside one.
 *
 * What comes too early, too late or not at all (a body cut off, a proxy's HTML page, a `Status` instead of a list) is a
 * `MalformedListError`: a list that ends before its time must never pass for a short one.
 */
import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './json-bytes.ts'
import { skipSpace, skipValue } from './json-bytes.ts'
import { MalformedListError, MalformedObjectError } from './malformed-error.ts'
import { asBuffer } from './object-scanner.ts'
import { statusFrom } from './status-body.ts'
import { ValueCollector } from './value-collector.ts'

/** What a list says about itself, besides its items. Texts that are not there are empty. */
export interface ListHead {
  readonly apiVersion: string
  readonly kind: string
  readonly resourceVersion: string
  /** Empty on the last page. */
  readonly continue: string
  readonly remainingItemCount?: number
}

export interface ListSplitterOptions {
  /** A larger item (or other part of the list) is a `MalformedListError` of code `tooLarge`. */
  readonly maxObjectBytes: number
  /** One item as it stands in the list; only valid during the call. */
  readonly onItem: (bytes: Uint8Array) => void
}

/** What is due next. `value` and `item` are inside one; `first*` may also end what they are in. */
type State =
  | 'start'
  | 'firstKey'
  | 'key'
  | 'inKey'
  | 'colon'
  | 'value'
  | 'inValue'
  | 'behindValue'
  | 'firstItem'
  | 'item'
  | 'inItem'
  | 'behindItem'
  | 'done'

const HEAD_FIELDS: ReadonlySet<string> = new Set([
  'kind',
  'apiVersion',
  'metadata',
  // Those of a Status.
  'status',
  'message',
  'reason',
  'details',
  'code',
])

export class ListSplitter {
  readonly #options: ListSplitterOptions
  readonly #collector: ValueCollector
  readonly #head = new Map<string, unknown>()
  #state: State = 'start'
  #key = ''
  #hasItems = false
  /** Bytes of earlier chunks, for positions in messages. */
  #offset = 0

  constructor(options: ListSplitterOptions) {
    this.#options = options
    this.#collector = new ValueCollector(options.maxObjectBytes)
  }

  /** What `onItem` throws passes through; no further call is possible then, as after a `MalformedListError`. */
  push(chunk: Uint8Array): void {
    const bytes = asBuffer(chunk)
    let i = 0
    while (i < bytes.length) i = this.#step(bytes, i)
    this.#offset += bytes.length
  }

  /** Throws `MalformedListError` where the list is not complete; `status` is set on it where the body was a `Status`. */
  end(): ListHead {
    if (this.#state !== 'done') throw new MalformedListError('truncated', 'the list ends too early', this.#offset)
    const status = statusFrom(Object.fromEntries(this.#head))
    if (status !== undefined) {
      const message = `a Status instead of a list: ${status.message ?? status.reason ?? 'no message'}`
      throw new MalformedListError('shape', message, undefined, status)
    }
    if (!this.#hasItems) throw new MalformedListError('shape', 'the list has no items')
    return this.#listHead()
  }

  /** One token, or as much of it as there is; returns the position behind it. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'inKey':
        return this.#collect(bytes, at, this.#keyEnded)
      case 'inValue':
        return this.#collect(bytes, at, this.#valueEnded)
      case 'inItem':
        return this.#collect(bytes, at, this.#itemEnded)
      default: {
        const i = skipSpace(bytes, at)
        return i < bytes.length ? this.#token(bytes, i) : i
      }
    }
  }

  #token(bytes: Buffer, at: number): number {
    const byte = bytes[at] as number
    const next = this.#next(byte)
    if (next === undefined) throw this.#unexpected(byte, at)
    this.#state = next
    if (next !== 'inKey' && next !== 'inValue' && next !== 'inItem') return at + 1
    this.#collector.begin(byte)
    return at // the first byte belongs to what is collected
  }

  /** The state behind a token that begins with that byte; undefined where it may not stand here. */
  #next(byte: number): State | undefined {
    switch (this.#state) {
      case 'start':
        return byte === OPEN_BRACE ? 'firstKey' : undefined
      case 'firstKey':
        return byte === CLOSE_BRACE ? 'done' : byte === QUOTE ? 'inKey' : undefined
      case 'key':
        return byte === QUOTE ? 'inKey' : undefined
      case 'colon':
        return byte === COLON ? 'value' : undefined
      case 'value':
        return this.#key === 'items' && byte === OPEN_BRACKET ? this.#beginItems() : 'inValue'
      case 'behindValue':
        return byte === COMMA ? 'key' : byte === CLOSE_BRACE ? 'done' : undefined
      case 'firstItem':
        return byte === CLOSE_BRACKET ? 'behindValue' : byte === OPEN_BRACE ? 'inItem' : undefined
      case 'item':
        return byte === OPEN_BRACE ? 'inItem' : undefined
      case 'behindItem':
        return byte === COMMA ? 'item' : byte === CLOSE_BRACKET ? 'behindValue' : undefined
      default:
        return undefined
    }
  }

  #beginItems(): State {
    if (this.#hasItems) throw new MalformedListError('shape', 'items stands there twice', this.#offset)
    this.#hasItems = true
    return 'firstItem'
  }

  #collect(bytes: Buffer, at: number, ended: (value: Buffer) => void): number {
    const end = this.#collector.feed(bytes, at)
    const value = end === -1 ? undefined : this.#collector.take(bytes, at, end)
    if (value !== undefined) ended(value)
    else if (end !== -1 || this.#collector.tooLarge) throw this.#tooLarge()
    return end === -1 ? bytes.length : end
  }

  readonly #keyEnded = (value: Buffer): void => {
    this.#key = this.#parsed(value) as string
    this.#state = 'colon'
  }

  readonly #valueEnded = (value: Buffer): void => {
    this.#state = 'behindValue'
    if (HEAD_FIELDS.has(this.#key)) this.#head.set(this.#key, this.#parsed(value))
    else if (this.#key === 'items') this.#noItems(value)
    else this.#checked(value)
  }

  readonly #itemEnded = (value: Buffer): void => {
    this.#state = 'behindItem'
    this.#options.onItem(value)
  }

  /** `null` is how Go writes a list that was never filled. */
  #noItems(value: Buffer): void {
    if (this.#parsed(value) !== null) throw new MalformedListError('shape', 'items is no array', this.#offset)
    this.#beginItems()
  }

  #parsed(value: Buffer): unknown {
    this.#checked(value)
    return JSON.parse(value.toString('utf8'))
  }

  #checked(value: Buffer): void {
    try {
      if (skipValue(value, 0) === value.length) return
    } catch (error) {
      if (!(error instanceof MalformedObjectError)) throw error
    }
    throw new MalformedListError('syntax', `${JSON.stringify(this.#key)} of the list is no JSON`, this.#offset)
  }

  #listHead(): ListHead {
    const metadata = this.#head.get('metadata') ?? {}
    const { resourceVersion, continue: position, remainingItemCount } = metadata as Readonly<Record<string, unknown>>
    return {
      apiVersion: textOf(this.#head.get('apiVersion')),
      kind: textOf(this.#head.get('kind')),
      resourceVersion: textOf(resourceVersion),
      continue: textOf(position),
      ...(typeof remainingItemCount === 'number' ? { remainingItemCount } : {}),
    }
  }

  #tooLarge(): MalformedListError {
    const { maxObjectBytes } = this.#options
    return new MalformedListError('tooLarge', `an object of more than ${maxObjectBytes} bytes`, this.#offset)
  }

  #unexpected(byte: number, at: number): MalformedListError {
    const shown = byte > 0x20 && byte < 0x7f ? `'${String.fromCharCode(byte)}'` : `0x${byte.toString(16)}`
    return new MalformedListError('syntax', `unexpected ${shown} in a list`, this.#offset + at)
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

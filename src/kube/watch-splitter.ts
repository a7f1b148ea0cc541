/**
 * Takes a WATCH stream apart into events. Events are found by their brackets, not by line ends: they may be cut anywhere,
 * also inside a character, come several in a chunk, be pretty-printed or parted by blank lines.
 *
 * An event's object is not looked into but for bookmarks and errors: `canonicalize` finds what is wrong inside one.
 */
import { OPEN_BRACE, skipSpace } from './json-bytes.ts'
import { MalformedEventError } from './malformed-error.ts'
import { asBuffer } from './object-scanner.ts'
import { ValueCollector } from './value-collector.ts'
import type { RawWatchEvent } from './watch-event.ts'
import { watchEventFrom } from './watch-event.ts'

export type { RawWatchEvent } from './watch-event.ts'

export interface WatchSplitterOptions {
  /** A larger event is a `MalformedEventError` of code `tooLarge`. */
  readonly maxEventBytes: number
}

export class WatchSplitter {
  readonly #options: WatchSplitterOptions
  readonly #collector: ValueCollector
  #inEvent = false
  #fault: MalformedEventError | undefined
  /** Bytes of earlier chunks, for positions in messages. */
  #offset = 0

  constructor(options: WatchSplitterOptions) {
    this.#options = options
    this.#collector = new ValueCollector(options.maxEventBytes)
  }

  /**
   * The events that are whole now, in order. Throws `MalformedEventError`; where good events came before the bad one in the
   * same chunk, they are returned and the next call throws.
   */
  push(chunk: Uint8Array): RawWatchEvent[] {
    if (this.#fault !== undefined) throw this.#fault
    const events: RawWatchEvent[] = []
    try {
      this.#split(asBuffer(chunk), events)
    } catch (error) {
      if (events.length === 0 || !(error instanceof MalformedEventError)) throw error
      this.#fault = error
    }
    this.#offset += chunk.length
    return events
  }

  /** How many bytes of a cut-off event are discarded; 0 where the stream ended between events. Throws as `push` does. */
  end(): number {
    if (this.#fault !== undefined) throw this.#fault
    return this.#inEvent ? this.#collector.pending : 0
  }

  #split(bytes: Buffer, events: RawWatchEvent[]): void {
    let i = 0
    while (i < bytes.length) {
      if (!this.#inEvent) {
        i = skipSpace(bytes, i)
        if (i === bytes.length) return
        if (bytes[i] !== OPEN_BRACE) {
          throw new MalformedEventError('syntax', 'no JSON object where an event is due', this.#offset + i)
        }
        this.#collector.begin(OPEN_BRACE)
        this.#inEvent = true
      }
      const end = this.#collector.feed(bytes, i)
      if (end === -1 && !this.#collector.tooLarge) return
      const whole = end === -1 ? undefined : this.#collector.take(bytes, i, end)
      if (whole === undefined) {
        const { maxEventBytes } = this.#options
        throw new MalformedEventError('tooLarge', `an event of more than ${maxEventBytes} bytes`, this.#offset + i)
      }
      this.#inEvent = false
      events.push(watchEventFrom(whole, this.#collector.firstChildEnd))
      i = end
    }
  }
}

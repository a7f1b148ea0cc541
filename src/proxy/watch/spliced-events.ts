import type { CacheEvent } from '../../cache/reader.ts'

/** The events of a second or two at 1,000/s: watchers that keep up ask for an event at about the same time. */
const MAX_BYTES = 8 * 1024 * 1024

/**
 * Rendered events, so that a thousand watchers cost one rendering. Bounded: whoever comes later renders again, and the
 * memory of the watch window is not doubled.
 */
export class SplicedEvents {
  readonly #rendered = new Map<CacheEvent, Buffer>()
  #bytes = 0

  get(event: CacheEvent, render: () => Buffer): Buffer {
    const known = this.#rendered.get(event)
    if (known !== undefined) return known
    const bytes = render()
    this.#rendered.set(event, bytes)
    this.#bytes += bytes.length
    for (const [oldest, { length }] of this.#rendered) {
      if (this.#bytes <= MAX_BYTES || oldest === event) break
      this.#rendered.delete(oldest)
      this.#bytes -= length
    }
    return bytes
  }
}

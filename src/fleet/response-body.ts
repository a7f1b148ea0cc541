/** The body of a member's answer: gunzipped, bounded in silence, released however the reader leaves it. */
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Clock } from '../util/clock.ts'
import { MemberError } from './member-error.ts'

export interface BodyOptions {
  readonly gzip: boolean
  /** Longest wait for the next bytes; time that the reader itself takes does not count. 0: no limit. */
  readonly idleMs: number
  readonly clock: Clock
  /** Turns what the stream threw into what the reader is told. */
  readonly fault: (error: unknown) => unknown
  /** Called once, when nothing more will be read. */
  readonly released: () => void
}

/** Chunks as they come. Leaving the loop early breaks the connection; reading to the end gives it back to the pool. */
export async function* readBody(raw: Readable, options: BodyOptions): AsyncGenerator<Uint8Array, void, void> {
  const { idleMs, clock } = options
  const stream = options.gzip ? gunzipped(raw) : raw
  const silent = (): void => {
    stream.destroy(new MemberError('timeout', `no byte for ${idleMs} ms`))
  }
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  try {
    for (;;) {
      const cancel = idleMs === 0 ? undefined : clock.setTimeout(silent, idleMs)
      const next = await chunks.next().finally(cancel)
      if (next.done === true) return
      yield next.value
    }
  } catch (error) {
    throw options.fault(error)
  } finally {
    stream.destroy()
    raw.destroy()
    options.released()
  }
}

function gunzipped(raw: Readable): Readable {
  const gunzip = createGunzip()
  // The error reaches the reader through the stream itself; the callback only keeps it from being thrown.
  pipeline(raw, gunzip, () => undefined)
  return gunzip
}

/** Everything, at most `limit` bytes; more is a MemberError of code `tooLarge`. */
export async function collect(body: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > limit) throw new MemberError('tooLarge', `the answer exceeds ${limit} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

/**
 * The side of a replica that has to know: keeps asking one other replica, and knows until when it can have missed nothing.
 */
import type { Clock } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import { GRANT_MS } from './announcer.ts'
import type { Channel, PeerMessage } from './channel.ts'
import type { Replica } from './directory.ts'

/** Four times in a grant: one that is lost costs nothing. */
const PING_MS = 500
const RETRY_MS = [100, 200, 400, 800, 1_600] as const

export interface FollowingOptions {
  readonly replica: Replica
  /** Rejects where it cannot be reached, or is not who it is said to be. */
  readonly dial: (replica: Replica, signal: AbortSignal) => Promise<Channel>
  readonly onNotice: (notice: unknown, ageMs: number) => void
  readonly clock: Clock
}

export class Following {
  readonly #options: FollowingOptions
  /** Monotonic. */
  #coveredUntilMs = 0
  /** It has said that it announces nothing any more. */
  #over = false
  #channel: Channel | undefined
  #tries = 0

  constructor(options: FollowingOptions) {
    this.#options = options
  }

  get replica(): Replica {
    return this.#options.replica
  }

  /** Everything that it has announced has been heard. */
  covered(): boolean {
    return this.#over || this.#options.clock.monotonicMs() < this.#coveredUntilMs
  }

  /** Until the signal aborts, or the other leaves. */
  async run(signal: AbortSignal): Promise<void> {
    const { dial, replica, clock } = this.#options
    while (!signal.aborted && !this.#over) {
      const channel = await dial(replica, signal).catch(() => undefined)
      if (channel !== undefined) await this.#follow(channel, signal)
      if (this.#over) return
      const waitMs = RETRY_MS[Math.min(this.#tries++, RETRY_MS.length - 1)] ?? PING_MS
      await sleep(waitMs, clock, signal).catch(() => undefined)
    }
  }

  /** Says that it asks no more; the other then waits for it no longer. Nothing may be answered from then on. */
  leave(): void {
    this.#coveredUntilMs = 0
    this.#channel?.send({ type: 'bye' })
  }

  async #follow(channel: Channel, signal: AbortSignal): Promise<void> {
    const { replica, clock } = this.#options
    this.#channel = channel
    const closed = new AbortController()
    /** When each question was asked that may still be answered. */
    const asked = new Map<number, number>()
    let heardMs = clock.monotonicMs()
    channel.listen(
      (message) => {
        heardMs = clock.monotonicMs()
        this.#hear(message, channel, asked)
      },
      () => closed.abort(new Error('the connection has ended')),
    )
    channel.send({ type: 'hello', incarnation: replica.incarnation })
    const ends = AbortSignal.any([signal, closed.signal])
    for (let n = 1; !ends.aborted && !this.#over; n++) {
      const nowMs = clock.monotonicMs()
      if (nowMs - heardMs > GRANT_MS) break
      for (const [old, sentMs] of asked) if (nowMs - sentMs > GRANT_MS) asked.delete(old)
      asked.set(n, nowMs)
      channel.send({ type: 'ping', n })
      await sleep(PING_MS, clock, ends).catch(() => undefined)
    }
    this.#channel = undefined
    channel.close()
  }

  #hear(message: PeerMessage, channel: Channel, asked: Map<number, number>): void {
    switch (message.type) {
      case 'pong': {
        const sentMs = asked.get(message.n)
        if (sentMs === undefined) return
        asked.delete(message.n)
        this.#tries = 0
        this.#coveredUntilMs = Math.max(this.#coveredUntilMs, sentMs + GRANT_MS)
        return
      }
      case 'notice':
        this.#options.onNotice(message.notice, message.ageMs)
        channel.send({ type: 'ack', n: message.n })
        return
      case 'bye':
        this.#over = true
        channel.close()
        return
      default:
        channel.close() // it is no announcer
    }
  }
}

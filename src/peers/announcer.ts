/**
 * The side of a replica that has something to say: no other replica may go on answering reads without having heard it.
 *
 * Contract: a follower that was answered (`pong`) may take it for `GRANT_MS`, from when it asked (`ping`), that it is told of
 * everything before `announce` resolves. So `announce` waits for each follower to say that it has heard, or for its grant to
 * have run out, counted from when its question came in, which is later. No clocks are compared; their rates may differ by a
 * tenth. Who follows anew is told of the past minute first. A follower that does not say that it has heard gets no new grant.
 */
import type { Clock } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import type { Channel, PeerMessage } from './channel.ts'

/** Two seconds of silence are a partition: reads go to the members, writes no longer wait for that follower. */
export const GRANT_MS = 2_000
/** Of a clock that runs slower than ours. */
const SLACK_MS = 200
/** A follower under load takes a few milliseconds. */
const HEARD_MS = 500
/** A write that could not be told of within this time is answered as one of unknown outcome. */
export const ANNOUNCE_MS = 10_000
/** What is told to new followers; beyond it they have to wait until what was forgotten is older than a minute. */
const MAX_REMEMBERED = 4_096
export const REMEMBER_MS = 60_000
const LOOK_MS = 50

export interface AnnouncerOptions {
  readonly clock: Clock
  /** Why another replica could miss what this one announces; undefined: none can. */
  readonly refusal: () => string | undefined
  /** Fingerprints of all that may answer reads. */
  readonly others: () => readonly string[]
  /** Sees to it that these learn that they have missed something, even if this process dies; false: it could not. */
  readonly noteUnheard: (fingerprints: readonly string[]) => Promise<boolean>
  readonly incarnation: () => string
  /** It follows this incarnation. */
  readonly heardFrom: (fingerprint: string) => void
  /** It has heard everything that is remembered. */
  readonly heardAll: (fingerprint: string) => void
}

interface Follower {
  channel: Channel | undefined
  /** Monotonic: its grant has run out then, whatever its clock says. */
  grantedUntilMs: number
  /** It is told on this channel of all notices from this one on. */
  readonly toldFrom: number
  /** Those of them that it has not said that it has heard; since when. */
  readonly unheard: Map<number, number>
  /** It cannot be told of everything before. */
  incompleteUntilMs: number
}

interface Remembered {
  readonly notice: unknown
  readonly atMs: number
}

export class Announcer {
  readonly #options: AnnouncerOptions
  /** By fingerprint. */
  readonly #followers = new Map<string, Follower>()
  readonly #past = new Map<number, Remembered>()
  readonly #waiting = new Set<() => void>()
  #last = 0
  /** Until then something that was announced within a minute has been forgotten. */
  #forgottenUntilMs = 0
  #stopped = false

  constructor(options: AnnouncerOptions) {
    this.#options = options
  }

  get followers(): number {
    return [...this.#followers.values()].filter(({ channel }) => channel !== undefined).length
  }

  get remembered(): number {
    this.#forgetOld()
    return this.#past.size
  }

  /** Takes the connection of an authenticated replica; a newer one of the same replica takes its place. */
  accept(fingerprint: string, channel: Channel): void {
    let isGreeted = false
    channel.listen(
      (message) => {
        if (!isGreeted) {
          isGreeted = message.type === 'hello' && message.incarnation === this.#options.incarnation()
          if (isGreeted && !this.#stopped) this.#join(fingerprint, channel)
          else channel.close() // it takes us for somebody else, or for whom we were
        } else this.#hear(fingerprint, channel, message)
      },
      () => {
        const follower = this.#followers.get(fingerprint)
        if (follower?.channel === channel) follower.channel = undefined
        this.#wake()
      },
    )
  }

  /**
   * Resolves with whether every follower has heard it (false: some were waited out). Rejects after `ANNOUNCE_MS`, or as soon as
   * nothing is announced any more.
   */
  async announce(notice: unknown): Promise<boolean> {
    const { clock, refusal, others, noteUnheard } = this.#options
    const n = this.#remember(notice)
    for (const follower of this.#followers.values()) this.#tell(follower, n)
    const endMs = clock.monotonicMs() + ANNOUNCE_MS
    for (;;) {
      if (this.#stopped) throw new Error('it is shutting down')
      const reason = refusal()
      const nowMs = clock.monotonicMs()
      if (reason === undefined && this.#isOver(n, nowMs)) {
        const deaf = others().filter((fingerprint) => !this.#hasHeard(fingerprint, n))
        if (deaf.length === 0) return true
        // Meanwhile it may have been counted out, or somebody may have come.
        if ((await noteUnheard(deaf)) && refusal() === undefined && this.#isOver(n, clock.monotonicMs())) return false
      }
      if (clock.monotonicMs() >= endMs) throw new Error(reason ?? 'they do not say that they have heard')
      await this.#change()
    }
  }

  /** Whoever has not heard of it has no grant left. */
  #isOver(n: number, nowMs: number): boolean {
    for (const [fingerprint, { grantedUntilMs }] of this.#followers) {
      if (grantedUntilMs > nowMs && !this.#hasHeard(fingerprint, n)) return false
    }
    return true
  }

  #hasHeard(fingerprint: string, n: number): boolean {
    const follower = this.#followers.get(fingerprint)
    return follower?.channel !== undefined && n >= follower.toldFrom && !follower.unheard.has(n)
  }

  /** Nothing is announced any more. */
  stop(): void {
    this.#stopped = true
    for (const { channel } of this.#followers.values()) {
      channel?.send({ type: 'bye' })
    }
    this.#wake()
  }

  close(): void {
    for (const { channel } of this.#followers.values()) channel?.close()
    this.#followers.clear()
  }

  #join(fingerprint: string, channel: Channel): void {
    this.#forgetOld()
    const before = this.#followers.get(fingerprint)
    before?.channel?.close()
    const follower: Follower = {
      channel,
      grantedUntilMs: before?.grantedUntilMs ?? 0,
      toldFrom: this.#past.keys().next().value ?? this.#last + 1,
      unheard: new Map(),
      incompleteUntilMs: this.#forgottenUntilMs,
    }
    this.#followers.set(fingerprint, follower)
    for (const n of this.#past.keys()) this.#tell(follower, n)
    this.#options.heardFrom(fingerprint)
  }

  #hear(fingerprint: string, channel: Channel, message: PeerMessage): void {
    const follower = this.#followers.get(fingerprint)
    if (follower?.channel !== channel) return
    switch (message.type) {
      case 'ping':
        this.#grant(fingerprint, follower, message.n)
        break
      case 'ack':
        follower.unheard.delete(message.n)
        break
      case 'bye':
        this.#followers.delete(fingerprint)
        channel.close()
        break
      default:
        channel.close() // it is no follower
        return
    }
    this.#wake()
  }

  #grant(fingerprint: string, follower: Follower, n: number): void {
    const nowMs = this.#options.clock.monotonicMs()
    const [oldest] = follower.unheard.values()
    if (this.#stopped || nowMs < follower.incompleteUntilMs) return
    if (oldest !== undefined && nowMs - oldest > HEARD_MS) return
    follower.grantedUntilMs = nowMs + GRANT_MS + SLACK_MS
    follower.channel?.send({ type: 'pong', n })
    if (follower.unheard.size === 0) this.#options.heardAll(fingerprint)
  }

  #tell(follower: Follower, n: number): void {
    const remembered = this.#past.get(n)
    if (follower.channel === undefined || remembered === undefined) return
    const nowMs = this.#options.clock.monotonicMs()
    follower.unheard.set(n, nowMs)
    follower.channel.send({
      type: 'notice',
      n,
      ageMs: Math.max(0, nowMs - remembered.atMs),
      notice: remembered.notice,
    })
  }

  #remember(notice: unknown): number {
    const atMs = this.#options.clock.monotonicMs()
    this.#forgetOld()
    for (const [fingerprint, { channel, grantedUntilMs }] of this.#followers) {
      if (channel === undefined && grantedUntilMs <= atMs) this.#followers.delete(fingerprint)
    }
    const [oldest] = this.#past
    if (oldest !== undefined && this.#past.size >= MAX_REMEMBERED) {
      this.#past.delete(oldest[0])
      this.#forgottenUntilMs = oldest[1].atMs + REMEMBER_MS
    }
    const n = ++this.#last
    this.#past.set(n, { notice, atMs })
    return n
  }

  #forgetOld(): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const [n, { atMs }] of this.#past) {
      if (nowMs - atMs < REMEMBER_MS) break
      this.#past.delete(n)
    }
  }

  /** Something happened, or a moment has passed. */
  async #change(): Promise<void> {
    const late = new AbortController()
    let woken = (): void => undefined
    const change = new Promise<void>((resolve) => {
      woken = resolve
      this.#waiting.add(woken)
    })
    await Promise.race([change, sleep(LOOK_MS, this.#options.clock, late.signal).catch(() => undefined)])
    late.abort()
    this.#waiting.delete(woken)
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}

/**
 * How long a watch of a member may be silent before it counts as dead: a connection that is half-open, or a server that
 * hangs, says nothing of it. One of these for all watches of one resource in one member, one after the other.
 */
import type { Random } from '../util/clock.ts'

export interface WatchBounds {
  /** To be asked for: the server ends the watch then. */
  readonly timeoutSeconds: number
  /** Longest silence, ms. */
  readonly idleMs: number
}

/** The server ends the watch after 5 to 10 min, spread so that a fleet's watches do not end together (client-go's value). */
const WATCH_SECONDS = 300
/**
 * While no bookmark has come, silence proves nothing; then the server's own clean end has to, after 60 to 120 s. A
 * kube-apiserver sends a bookmark before it ends a watch, so that this is the first watch only.
 */
const WATCH_SECONDS_WITHOUT_BOOKMARKS = 60
const END_GRACE_MS = 15_000 // for the server to end a watch whose time is over
const SILENCE_MS = 90_000 // a kube-apiserver's bookmarks come each minute

export class WatchPatience {
  readonly #silenceMs: number
  #bookmarksSeen = false

  constructor(silenceMs: number = SILENCE_MS) {
    this.#silenceMs = silenceMs
  }

  /** For the next watch. */
  bounds(random: Random): WatchBounds {
    const base = this.#bookmarksSeen ? WATCH_SECONDS : WATCH_SECONDS_WITHOUT_BOOKMARKS
    const timeoutSeconds = Math.floor(base * (1 + random()))
    return { timeoutSeconds, idleMs: this.#bookmarksSeen ? this.#silenceMs : timeoutSeconds * 1_000 + END_GRACE_MS }
  }

  /** The server is one that sends bookmarks. */
  bookmarkCame(): void {
    this.#bookmarksSeen = true
  }
}

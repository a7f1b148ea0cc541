/**
 * Connections whose end has yet to show that it is a replica. So many of them at most, each for so long; they take no place of
 * a replica. Beyond the bound the one that has waited longest goes, not the one that comes: a replica shows who it is within
 * milliseconds, so that it gets in however many stand idle.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../util/clock.ts'

/** More than there are replicas, all of which may come at once after a restart. */
export const MAX_STRANGERS = 64
/** Handshake, and a look at the Lease where the certificate is not known yet. */
export const STRANGER_MS = 5_000

interface Waiting {
  readonly socket: Socket
  readonly disarm: () => void
}

export class Strangers {
  readonly #clock: Clock
  /** By where they come from, the longest waiting first. */
  readonly #waiting = new Map<string, Waiting>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  arrive(socket: Socket): void {
    const [longest] = this.#waiting
    if (longest !== undefined && this.#waiting.size >= MAX_STRANGERS) this.#turnAway(...longest)
    const from = originOf(socket)
    const disarm = this.#clock.setTimeout(() => this.#turnAway(from, waiting), STRANGER_MS)
    const waiting: Waiting = { socket, disarm }
    this.#waiting.set(from, waiting)
    socket.once('close', () => this.#forget(from, waiting))
  }

  /** It has shown who it is. `socket` may be what was made of the one that arrived. */
  admit(socket: Socket): void {
    const from = originOf(socket)
    const waiting = this.#waiting.get(from)
    if (waiting !== undefined) this.#forget(from, waiting)
  }

  #turnAway(from: string, waiting: Waiting): void {
    this.#forget(from, waiting)
    waiting.socket.destroy()
  }

  #forget(from: string, waiting: Waiting): void {
    waiting.disarm()
    if (this.#waiting.get(from) === waiting) this.#waiting.delete(from)
  }
}

/** No two open connections to one port come from the same. */
const originOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

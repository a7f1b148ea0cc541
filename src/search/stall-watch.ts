/** Lets a client go that takes nothing of an answer, where something is kept for it. */
import type { ServerResponse } from 'node:http'
import { cutOff } from '../http/connection.ts'
import type { Clock } from '../util/clock.ts'

/** After one to two of these; who takes a little at times is within what is bounded by number. */
export const STALL_MS = 60_000

export class StallWatch {
  readonly #clock: Pick<Clock, 'setTimeout'>
  readonly #response: ServerResponse
  #moved = true
  #cancel: () => void

  constructor(clock: Pick<Clock, 'setTimeout'>, response: ServerResponse) {
    this.#clock = clock
    this.#response = response
    this.#cancel = this.#wait()
  }

  moved(): void {
    this.#moved = true
  }

  end(): void {
    this.#cancel()
  }

  #wait(): () => void {
    return this.#clock.setTimeout(() => {
      if (!this.#moved) return cutOff(this.#response)
      this.#moved = false
      this.#cancel = this.#wait()
    }, STALL_MS)
  }
}

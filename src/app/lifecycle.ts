/** What was started is stopped in reverse order, each inside the grace period that is left; a failure does not stop the rest. */
import type { Logger } from '../telemetry/logger.ts'
import type { Clock } from '../util/clock.ts'

interface Started {
  readonly name: string
  stop(graceMs: number): Promise<void> | void
}

export class Lifecycle {
  readonly #started: Started[] = []
  readonly #log: Logger
  readonly #clock: Clock
  #stopping = false

  constructor(log: Logger, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  /** Nothing that begins now would last. */
  get stopping(): boolean {
    return this.#stopping
  }

  /** Call after each start, in order. */
  onStop(name: string, stop: (graceMs: number) => Promise<void> | void): void {
    this.#started.push({ name, stop })
  }

  /** Runs `task` until its signal aborts; at stop, aborts it and waits for its end. A task that rejects is `onFault`'s. */
  run(name: string, task: (signal: AbortSignal) => Promise<void>, onFault: (error: unknown) => void): void {
    const controller = new AbortController()
    const ended = task(controller.signal).catch((error: unknown) => {
      if (!controller.signal.aborted) onFault(error)
    })
    this.onStop(name, async () => {
      controller.abort(new Error('shutting down'))
      await ended
    })
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    const deadline = this.#clock.monotonicMs() + graceMs
    for (const { name, stop } of this.#started.splice(0).reverse()) {
      const left = Math.max(0, deadline - this.#clock.monotonicMs())
      this.#log.debug({ component: name }, 'stopping')
      try {
        await stop(left)
      } catch (err) {
        this.#log.error({ component: name, err }, 'stopping failed')
      }
    }
  }
}

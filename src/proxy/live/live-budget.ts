/**
 * Memory that lists read live from the members may hold together, over all requests: each is whole in memory until it has been
 * sent. Whoever would go beyond is told to come back (429), instead of taking the process down.
 */
import { StatusError } from '../../kube/status-error.ts'
import { Gauge, type Registry } from '../../telemetry/metrics.ts'

/** What one request holds. */
export interface Lease {
  /** Throws `tooManyRequests` where there is no room for so many bytes more. */
  hold(bytes: number): void
  /** Gives everything back. */
  release(): void
}

/** Four members' largest lists of pods (50,000 of 4 KB each are 200 MB) do not fit at once; one fleet's list does. */
const LIMIT_BYTES = 512 * 1024 * 1024

export class LiveBudget {
  readonly #limit: number
  #used = 0

  constructor(limit: number = LIMIT_BYTES, metrics?: Registry) {
    this.#limit = limit
    if (metrics === undefined) return
    const used = (): number => this.#used
    new Gauge({
      name: 'fleetsearch_proxy_live_bytes',
      help: 'Bytes of lists that are being read live from the members.',
      registers: [metrics],
      collect() {
        this.set(used())
      },
    })
  }

  get used(): number {
    return this.#used
  }

  lease(): Lease {
    let held = 0
    return {
      hold: (bytes) => {
        if (this.#used + bytes > this.#limit) throw noRoom()
        this.#used += bytes
        held += bytes
      },
      release: () => {
        this.#used -= held
        held = 0
      },
    }
  }
}

function noRoom(): StatusError {
  return new StatusError(
    'tooManyRequests',
    'lists that are being read live from the members take up all memory there is for them: read with a limit, or later',
    { details: { retryAfterSeconds: 1 } },
  )
}

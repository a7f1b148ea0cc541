/** How many connections are given to other protocols at once, and what passes through them. */
import { StatusError } from '../../kube/status-error.ts'
import { Counter, createMetricsRegistry, Gauge, type Registry } from '../../telemetry/metrics.ts'

export interface StreamsOptions {
  /** 0: no limit. */
  readonly limit: number
  readonly registry: Registry
}

/** One of them, from the wish to the end. */
export interface OpenStream {
  /** The member answered: 101, or with what it refused. */
  answered(code: number): void
  /** Bytes that went through, as it ends. */
  moved(toMember: number, toClient: number): void
  /** Leaves its place. */
  end(): void
}

export class Streams {
  readonly #limit: number
  readonly #open: Gauge
  readonly #answers: Counter
  readonly #refused: Counter
  readonly #bytes: Counter
  #now = 0

  constructor({ limit, registry }: StreamsOptions) {
    const registers = [registry]
    this.#limit = limit
    this.#open = new Gauge({
      name: 'fleetsearch_streams_open',
      help: 'Connections that exec, attach, port-forward and the like hold.',
      labelNames: ['protocol'],
      registers,
    })
    this.#answers = new Counter({
      name: 'fleetsearch_streams_total',
      help: 'Requests for another protocol that were passed to a member, by its answer (101: it agreed).',
      labelNames: ['protocol', 'code'],
      registers,
    })
    this.#refused = new Counter({
      name: 'fleetsearch_streams_refused_total',
      help: 'Requests for another protocol that were refused since too many were open.',
      registers,
    })
    this.#bytes = new Counter({
      name: 'fleetsearch_streams_bytes_total',
      help: 'Bytes that went through, counted when a stream ends.',
      labelNames: ['direction'],
      registers,
    })
  }

  /** Throws `tooManyRequests` where there is no place. */
  enter(asked: string): OpenStream {
    if (this.#limit > 0 && this.#now >= this.#limit) {
      this.#refused.inc()
      throw new StatusError('tooManyRequests', `too many streams are open; the limit is ${this.#limit}`, {
        details: { retryAfterSeconds: 1 },
      })
    }
    const protocol = protocolLabel(asked)
    this.#now += 1
    this.#open.inc({ protocol })
    return {
      answered: (code) => {
        this.#answers.inc({ protocol, code: String(code) })
      },
      moved: (toMember, toClient) => {
        this.#bytes.inc({ direction: 'to_member' }, toMember)
        this.#bytes.inc({ direction: 'to_client' }, toClient)
      },
      end: () => {
        this.#now -= 1
        this.#open.dec({ protocol })
      },
    }
  }
}

/** Bounded, whatever clients invent. */
function protocolLabel(asked: string): string {
  const protocol = asked.toLowerCase()
  return protocol === 'spdy/3.1' || protocol === 'websocket' ? protocol : 'other'
}

export function unboundedStreams(): Streams {
  return new Streams({ limit: 0, registry: createMetricsRegistry() })
}

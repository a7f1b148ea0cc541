/** How many connections are given to other protocols at once, to all and to one user, and what passes through them. */
import { StatusError } from '../../kube/status-error.ts'
import { Counter, createMetricsRegistry, Gauge, type Registry } from '../../telemetry/metrics.ts'

export interface StreamsOptions {
  /** 0: no limit. */
  readonly limit: number
  /** So that one user cannot keep all others out; default 0: no limit. */
  readonly limitPerUser?: number
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
  readonly #limitPerUser: number
  /** By user; who has none has no entry. */
  readonly #ofUser = new Map<string, number>()
  readonly #open: Gauge
  readonly #answers: Counter
  readonly #refused: Counter
  readonly #bytes: Counter
  #now = 0

  constructor({ limit, limitPerUser = 0, registry }: StreamsOptions) {
    const registers = [registry]
    this.#limit = limit
    this.#limitPerUser = limitPerUser
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
      help: 'Requests for another protocol that were refused since too many were open, of all or of that user.',
      labelNames: ['bound'],
      registers,
    })
    for (const bound of ['all', 'user']) this.#refused.inc({ bound }, 0)
    const most = (): number => Math.max(0, ...this.#ofUser.values())
    new Gauge({
      name: 'fleetsearch_streams_open_most_of_one_user',
      help: 'Connections that the user with the most of them holds.',
      registers,
      collect() {
        this.set(most())
      },
    })
    this.#bytes = new Counter({
      name: 'fleetsearch_streams_bytes_total',
      help: 'Bytes that went through, counted when a stream ends.',
      labelNames: ['direction'],
      registers,
    })
  }

  /** Throws `tooManyRequests` where there is no place. */
  enter(asked: string, user: string): OpenStream {
    const own = this.#ofUser.get(user) ?? 0
    if (this.#limitPerUser > 0 && own >= this.#limitPerUser) {
      throw this.#refusal(
        'user',
        `user ${JSON.stringify(user)} has too many streams open; the limit for one user is ${this.#limitPerUser}`,
      )
    }
    if (this.#limit > 0 && this.#now >= this.#limit) {
      throw this.#refusal('all', `too many streams are open; the limit is ${this.#limit}`)
    }
    const protocol = protocolLabel(asked)
    this.#now += 1
    this.#ofUser.set(user, own + 1)
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
        this.#leave(user)
        this.#open.dec({ protocol })
      },
    }
  }

  #leave(user: string): void {
    const own = (this.#ofUser.get(user) ?? 0) - 1
    if (own > 0) this.#ofUser.set(user, own)
    else this.#ofUser.delete(user)
  }

  #refusal(bound: 'all' | 'user', message: string): StatusError {
    this.#refused.inc({ bound })
    return new StatusError('tooManyRequests', message, { details: { retryAfterSeconds: 1 } })
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

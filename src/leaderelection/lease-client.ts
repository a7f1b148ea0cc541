/** Reads and writes one Lease of the control plane. Each call takes at most `timeoutMs`, body included. */
import { isFields, type Fields } from '../fleet/fields.ts'
import type { MemberClient } from '../fleet/member.ts'
import { redact } from '../fleet/redact.ts'
import type { Clock } from '../util/clock.ts'
import { LeaseError } from './lease-error.ts'
import { leaseFrom, newLease, withRecord, type Lease, type LeaseName, type LeaseRecord } from './lease.ts'

export interface LeaseClientOptions {
  readonly client: Pick<MemberClient, 'request'>
  readonly lease: LeaseName
  readonly timeoutMs: number
  readonly clock: Clock
}

const ANSWER_LIMIT = 1024 * 1024

/** All reject with `LeaseError`, or with the signal's reason. */
export class LeaseClient {
  readonly #options: LeaseClientOptions
  readonly #collection: string

  constructor(options: LeaseClientOptions) {
    this.#options = options
    this.#collection = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(options.lease.namespace)}/leases`
  }

  /** Undefined: there is none. */
  async get(signal: AbortSignal): Promise<Lease | undefined> {
    return this.#ask('GET', this.#object(), undefined, signal)
  }

  /** Rejects with `conflict` where there is one. */
  async create(record: LeaseRecord, signal: AbortSignal): Promise<Lease> {
    const created = await this.#ask('POST', this.#collection, newLease(this.#options.lease, record), signal)
    if (created === undefined) throw new LeaseError('refused', `namespace ${this.#options.lease.namespace} not found`)
    return created
  }

  /** Rejects with `conflict` where it is no longer as `lease` was read, or gone. */
  async update(lease: Lease, record: LeaseRecord, signal: AbortSignal): Promise<Lease> {
    const updated = await this.#ask('PUT', this.#object(), withRecord(lease, record), signal)
    if (updated === undefined) throw new LeaseError('conflict', 'the lease is gone')
    return updated
  }

  #object(): string {
    return `${this.#collection}/${encodeURIComponent(this.#options.lease.name)}`
  }

  async #ask(method: string, path: string, body: Fields | undefined, signal: AbortSignal): Promise<Lease | undefined> {
    const { timeoutMs, clock, client } = this.#options
    const late = new AbortController()
    const cancel = clock.setTimeout(() => {
      late.abort(new LeaseError('unavailable', `no answer within ${timeoutMs} ms`))
    }, timeoutMs)
    const ends = AbortSignal.any([signal, late.signal])
    try {
      const answer = await settled(
        ends,
        client.request({
          method,
          path,
          headers: { accept: 'application/json', 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          headersTimeoutMs: timeoutMs,
          signal: ends,
        }),
      )
      return read(answer.status, await settled(ends, answer.bytes(ANSWER_LIMIT)))
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof LeaseError) throw error
      throw new LeaseError('unavailable', error instanceof Error ? error.message : 'no answer', { cause: error })
    } finally {
      cancel()
    }
  }
}

/** What does not end with its signal is left behind. */
function settled<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
    if (signal.aborted) onAbort()
  })
}

function read(status: number, bytes: Buffer): Lease | undefined {
  const value = parse(bytes)
  if (status === 404) return undefined
  if (status >= 200 && status < 300) {
    if (value !== undefined) return leaseFrom(value)
    throw new LeaseError('unavailable', 'the answer is no Lease')
  }
  const message = typeof value?.['message'] === 'string' ? value['message'] : ''
  const text = `${status} ${redact(message)}`.trimEnd()
  if (status === 409) throw new LeaseError('conflict', text)
  throw new LeaseError(status === 429 || status >= 500 ? 'unavailable' : 'refused', text)
}

function parse(bytes: Buffer): Fields | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

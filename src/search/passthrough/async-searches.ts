/**
 * `_async_search`: searches that go on behind their request, and answers kept for who submitted them. The search is made of
 * allowed pieces and narrowed by rights when it is submitted; here is only who may read it, how many there are and for how
 * long. An id says nothing, and another's is told as none.
 */
import { randomBytes } from 'node:crypto'
import { badRequest, StatusError } from '../../kube/status-error.ts'
import type { UserInfo } from '../../http/api-request.ts'
import type { Clock } from '../../util/clock.ts'
import type { Used } from '../search-usage.ts'

const MAX_SEARCHES = 64
const MAX_OF_USER = 16
/** Of the answers that are kept. */
const MAX_BYTES = 64 * 1024 * 1024
const MAX_KEEP_MS = 10 * 60_000
const DEFAULT_KEEP_MS = 5 * 60_000
const MAX_WAIT_MS = 30_000
const DEFAULT_WAIT_MS = 1_000

export interface AsyncOptions {
  readonly waitMs: number
  readonly keepMs: number
  readonly keepOnCompletion: boolean
}

/** Of a later look at it: what is not said changes nothing. */
export interface AsyncLook {
  readonly waitMs?: number
  /** From now on, yet never longer than `MAX_KEEP_MS` after it was submitted: so old are its rights. */
  readonly keepMs?: number
  /** Without the response. */
  readonly statusOnly?: boolean
}

/** Parameters that are read here alone; Kibana sends all three. */
export const ASYNC_PARAMETERS = ['wait_for_completion_timeout', 'keep_alive', 'keep_on_completion'] as const

export interface AsyncAnswer {
  /** Undefined where nothing is kept. */
  readonly id?: string
  readonly running: boolean
  readonly startedMs: number
  readonly expiresMs: number
  readonly completedMs?: number
  /** Undefined while it runs, and where only the status is asked for. */
  readonly response?: object
}

interface Kept {
  readonly owner: string
  readonly startedMs: number
  expiresMs: number
  cancelExpiry: () => void
  readonly done: Promise<void>
  outcome?: { readonly bytes?: Buffer; readonly error?: unknown; readonly completedMs: number }
}

export class AsyncSearches implements Used {
  readonly most = MAX_SEARCHES
  readonly #clock: Clock
  readonly #kept = new Map<string, Kept>()
  /** Those under way, whether or not anybody still wants them. */
  readonly #running = new Map<string, number>()
  #bytes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Those that run or are kept. */
  now(): number {
    const waiting = [...this.#kept.values()].filter(({ outcome }) => outcome !== undefined)
    return waiting.length + [...this.#running.values()].reduce((sum, count) => sum + count, 0)
  }

  async submit(user: UserInfo, options: AsyncOptions, search: () => Promise<object>): Promise<AsyncAnswer> {
    const owner = ownerOf(user)
    this.#admit(owner)
    const id = randomBytes(24).toString('base64url')
    const startedMs = this.#clock.nowMs()
    this.#count(owner, 1)
    const kept: Kept = {
      owner,
      startedMs,
      expiresMs: startedMs + options.keepMs,
      cancelExpiry: () => undefined,
      done: search()
        .then((response) => this.#complete(id, kept, response))
        .catch((error: unknown) => void (kept.outcome = { error, completedMs: this.#clock.nowMs() }))
        .finally(() => this.#count(owner, -1)),
    }
    this.#kept.set(id, kept)
    this.#expire(id, kept)
    await this.#wait(kept.done, options.waitMs)
    if (kept.outcome === undefined || (options.keepOnCompletion && kept.outcome.error === undefined)) {
      return this.#answer(kept, id)
    }
    this.#forget(id)
    return this.#answer(kept)
  }

  /** Throws `notFound` for what there is not, is no more or is another's, and what the search failed with. */
  async read(user: UserInfo, id: string, { waitMs = 0, keepMs, statusOnly }: AsyncLook): Promise<AsyncAnswer> {
    const kept = this.#of(user, id)
    if (keepMs !== undefined) {
      kept.expiresMs = Math.min(this.#clock.nowMs() + keepMs, kept.startedMs + MAX_KEEP_MS)
      this.#expire(id, kept)
    }
    await this.#wait(kept.done, waitMs)
    return this.#answer(kept, id, statusOnly)
  }

  remove(user: UserInfo, id: string): void {
    this.#of(user, id)
    this.#forget(id)
  }

  #of(user: UserInfo, id: string): Kept {
    const kept = this.#kept.get(id)
    if (kept?.owner !== ownerOf(user)) throw new StatusError('notFound', 'there is no such search, or it has expired')
    return kept
  }

  #admit(owner: string): void {
    const waiting = [...this.#kept.values()].filter((each) => each.owner === owner && each.outcome !== undefined)
    const own = (this.#running.get(owner) ?? 0) + waiting.length
    if (own >= MAX_OF_USER || this.now() >= MAX_SEARCHES || this.#bytes >= MAX_BYTES) {
      throw tooMany('too many asynchronous searches run or are kept')
    }
  }

  /** Throws `tooManyRequests` for an answer that no place is left for. */
  #complete(id: string, kept: Kept, response: object): void {
    const bytes = Buffer.from(JSON.stringify(response))
    const isKept = this.#kept.get(id) === kept // else it is for who waits for it now alone
    if (isKept && this.#bytes + bytes.length > MAX_BYTES) {
      throw tooMany(
        `the answer of ${bytes.length} bytes finds no place among the asynchronous ones: ask for less of it`,
      )
    }
    kept.outcome = { bytes, completedMs: this.#clock.nowMs() }
    if (isKept) this.#bytes += bytes.length
  }

  #answer({ outcome, startedMs, expiresMs }: Kept, id?: string, statusOnly = false): AsyncAnswer {
    const facts = { ...(id === undefined ? {} : { id }), startedMs, expiresMs }
    if (outcome === undefined) return { ...facts, running: true }
    const { bytes, error, completedMs } = outcome
    if (bytes === undefined) throw error
    const done = { ...facts, running: false, completedMs }
    return statusOnly ? done : { ...done, response: JSON.parse(bytes.toString()) as object }
  }

  async #wait(done: Promise<void>, ms: number): Promise<void> {
    let cancel: (() => void) | undefined
    const waited = new Promise<void>((resolve) => (cancel = this.#clock.setTimeout(resolve, ms)))
    await Promise.race([done, waited])
    cancel?.()
  }

  #expire(id: string, kept: Kept): void {
    kept.cancelExpiry()
    kept.cancelExpiry = this.#clock.setTimeout(() => this.#forget(id), kept.expiresMs - this.#clock.nowMs())
  }

  #forget(id: string): void {
    const kept = this.#kept.get(id)
    if (kept === undefined) return
    kept.cancelExpiry()
    this.#bytes -= kept.outcome?.bytes?.length ?? 0
    this.#kept.delete(id)
  }

  #count(owner: string, by: number): void {
    const count = (this.#running.get(owner) ?? 0) + by
    if (count > 0) this.#running.set(owner, count)
    else this.#running.delete(owner)
  }
}

function tooMany(message: string): StatusError {
  return new StatusError('tooManyRequests', message, { details: { retryAfterSeconds: 5 } })
}

/** With all that decides on rights: who has lost a group is somebody else. */
function ownerOf({ name, uid, groups, extra }: UserInfo): string {
  return JSON.stringify([name, uid, groups.toSorted(), Object.entries(extra).toSorted(([a], [b]) => (a < b ? -1 : 1))])
}

/** Throws `badRequest` for what is no time. Kept no longer than ten minutes, whatever is asked for: the answer says until when. */
export function readAsyncOptions(query: URLSearchParams): AsyncOptions {
  const keepMs = duration(query, 'keep_alive') ?? DEFAULT_KEEP_MS
  return {
    waitMs: Math.min(duration(query, 'wait_for_completion_timeout') ?? DEFAULT_WAIT_MS, MAX_WAIT_MS),
    keepMs: Math.min(keepMs, MAX_KEEP_MS),
    keepOnCompletion: query.has('keep_on_completion') && query.get('keep_on_completion') !== 'false',
  }
}

export function readAsyncLook(query: URLSearchParams): Pick<AsyncLook, 'waitMs' | 'keepMs'> {
  const keepMs = duration(query, 'keep_alive')
  return {
    waitMs: Math.min(duration(query, 'wait_for_completion_timeout') ?? 0, MAX_WAIT_MS),
    ...(keepMs === undefined ? {} : { keepMs: Math.min(keepMs, MAX_KEEP_MS) }),
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function duration(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const [, count, unit = ''] = /^([0-9]{1,12})(ms|s|m|h|d)$/.exec(text) ?? []
  if (count === undefined) throw badRequest(`the parameter ${name} is no time, as 200ms, 1m or 5d`)
  return Number(count) * (UNIT_MS[unit] ?? 0)
}

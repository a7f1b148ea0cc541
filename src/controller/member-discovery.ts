/** Asks one member what it serves, until its signal aborts. */
import { fetchDiscovery, type Discovery } from '../fleet/discovery.ts'
import type { Member } from '../fleet/member.ts'
import { Backoff, RETRY, SLOW_RETRY } from '../informer/backoff.ts'
import { pause } from '../informer/pause.ts'
import { ReflectorError, faultCode } from '../informer/reflector-error.ts'
import { policyOf } from '../informer/retry-policy.ts'
import type { ClusterName } from '../kube/names.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock, Random } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import { track, type TrackedDiscovery } from './tracked-discovery.ts'

export interface MemberDiscoveryOptions {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Between two answers of one member, ms; default 10 000, jittered by a tenth. */
  readonly pollMs?: number
}

export interface DiscoveryFailure {
  readonly code: string
  /** Short and free of secrets. */
  readonly message: string
}

const CONFIRM_MS = 2_000 // after an answer left something out; also the shortest time between two questions

export class MemberDiscovery {
  readonly name: ClusterName
  readonly uid: string
  readonly #member: Member
  readonly #options: MemberDiscoveryOptions
  readonly #onChange: () => void
  readonly #backoff: Backoff
  readonly #slowBackoff: Backoff
  readonly #wakers = new Set<() => void>()
  #answered: (() => void)[] = []
  #last: Discovery | undefined
  #asked = false
  tracked: TrackedDiscovery | undefined
  failure: DiscoveryFailure | undefined

  constructor(
    member: Member,
    options: MemberDiscoveryOptions,
    tracked: TrackedDiscovery | undefined,
    onChange: () => void,
  ) {
    this.name = member.facts.name
    this.uid = member.facts.uid
    this.tracked = tracked
    this.#member = member
    this.#options = options
    this.#onChange = onChange
    this.#backoff = new Backoff(RETRY, options.clock, options.random)
    this.#slowBackoff = new Backoff(SLOW_RETRY, options.clock, options.random)
  }

  refresh(answered?: () => void): void {
    if (answered !== undefined) this.#answered.push(answered)
    this.#asked = true
    for (const wake of [...this.#wakers]) wake()
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    while (!signal.aborted) {
      const startedMs = clock.monotonicMs()
      this.#asked = false
      const waitMs = await this.#ask(signal)
      if (signal.aborted) return
      if (!this.#asked) await pause(waitMs, this.#options, this.#waker(), signal)
      const leftMs = startedMs + CONFIRM_MS - clock.monotonicMs()
      if (leftMs > 0) await sleep(leftMs, clock, signal).catch(() => undefined)
    }
  }

  /** One question; returns how long to wait before the next. */
  async #ask(signal: AbortSignal): Promise<number> {
    try {
      const previous = this.#last === undefined ? {} : { previous: this.#last }
      this.#last = await fetchDiscovery(this.#member.client, { ...previous, signal })
      signal.throwIfAborted()
      if (this.#last.resources.length === 0 && this.#last.failedGroups.length === 0) throw servesNothing(this.name)
      return this.#succeeded(this.#last)
    } catch (error) {
      return signal.aborted ? 0 : this.#failed(error)
    }
  }

  #succeeded(discovery: Discovery): number {
    const { logger, pollMs = 10_000, random } = this.#options
    const before = this.tracked
    const recovered = this.failure !== undefined
    this.tracked = track(before, discovery)
    this.failure = undefined
    this.#backoff.reset()
    const { resources, returns, failedGroups, missing } = this.tracked
    if (resources !== before?.resources || returns !== before.returns || recovered) {
      logger.debug({ cluster: this.name, resources: resources.length, failedGroups }, 'member tells what it serves')
      this.#onChange()
    }
    const answered = this.#answered
    this.#answered = []
    for (const callback of answered) callback()
    return missing.size > 0 && failedGroups.length === 0 ? CONFIRM_MS : pollMs * (0.9 + 0.2 * random())
  }

  #failed(error: unknown): number {
    const { logger } = this.#options
    const code = faultCode(error)
    const slow = code !== undefined && policyOf(code).slow
    const waitMs = slow ? this.#slowBackoff.nextMs() : this.#backoff.nextMs()
    const failure = { code: code ?? 'internal', message: error instanceof Error ? error.message : String(error) }
    const first = this.failure?.code !== failure.code
    this.failure = failure
    if (code === undefined) logger.error({ err: error, cluster: this.name }, 'discovery failed inside this program')
    else
      logger[first ? 'warn' : 'debug'](
        { err: error, cluster: this.name, waitMs },
        'member does not tell what it serves',
      )
    if (first) this.#onChange()
    return waitMs
  }

  #waker(): { onRecovery(listener: () => void): () => void } {
    return {
      onRecovery: (listener) => {
        this.#wakers.add(listener)
        const unlisten = this.#member.client.onRecovery?.(listener)
        return () => {
          this.#wakers.delete(listener)
          unlisten?.()
        }
      },
    }
  }
}

/** No Kubernetes serves nothing: something in between answers, and what was served is not gone. */
function servesNothing(name: ClusterName): ReflectorError {
  return new ReflectorError('malformed', 'list', `${name}: discovery names no resource at all`)
}

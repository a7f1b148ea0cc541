/**
 * Holds a Lease, or waits for it. Whether another's lease has run out is decided by our own monotonic clock, from when we
 * saw its record change; wall clocks are written for people and never compared. Each write is conditional on the version
 * that was read. A leader is one only until `renewDeadlineMs` after it sent the last renewal that was answered, which is
 * before anybody else may take the lease.
 * Source: client-go tools/leaderelection/leaderelection.go. Left out: events, migration between kinds of locks, coordinated
 * election. Another: who loses the lease goes on as a backup, since every replica serves.
 */
import type { Logger } from '../telemetry/logger.ts'
import type { Registry } from '../telemetry/metrics.ts'
import type { Clock, Random } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import type { MemberClient } from '../fleet/member.ts'
import { LeaseClient } from './lease-client.ts'
import { isLeaseError, LeaseError } from './lease-error.ts'
import { microTime, type Lease, type LeaseName, type LeaseRecord } from './lease.ts'
import type { Leadership } from './leadership.ts'
import { addLeaderMetrics } from './metrics.ts'

export interface LeaderElectionTimes {
  /** 15 s: how long backups wait before they take the lease of a leader that is silent. */
  readonly leaseDurationMs: number
  /** 10 s: how long a leader that cannot renew goes on. */
  readonly renewDeadlineMs: number
  /** 2 s: between two tries. */
  readonly retryPeriodMs: number
}

export interface LeaderElectorOptions extends LeaderElectionTimes {
  readonly client: Pick<MemberClient, 'request'>
  readonly lease: LeaseName
  /** Of this process alone: one that starts anew is another. */
  readonly identity: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Registry
}

/** Backups spread their tries over `retryPeriodMs` to 2.2 times that. Source: leaderelection.go `JitterFactor`. */
export const JITTER_FACTOR = 1.2

/** Letting go at the end must not hold up the end. */
const RELEASE_MS = 2_000

type Outcome = 'held' | 'taken'

export class LeaderElector implements Leadership {
  readonly #options: LeaderElectorOptions
  readonly #leases: LeaseClient
  readonly #countSlowPath: () => void
  readonly #listeners = new Set<() => void>()
  /** Monotonic; undefined: not leading. */
  #leadingUntilMs: number | undefined
  /** The Lease as last seen, and since when its record is as it is. */
  #seen: { readonly lease: Lease; readonly sinceMs: number } | undefined
  #told: string | undefined
  #beat = 0

  constructor(options: LeaderElectorOptions) {
    this.#options = options
    const { client, lease, clock, renewDeadlineMs, metrics } = options
    // Two tries fit into the deadline. Source: component-base, which gives the elector's client half of it.
    this.#leases = new LeaseClient({ client, lease, timeoutMs: renewDeadlineMs / 2, clock })
    this.#countSlowPath = addLeaderMetrics(metrics, lease.name, () => this.isLeader())
  }

  isLeader(): boolean {
    return this.#leadingUntilMs !== undefined && this.#options.clock.monotonicMs() < this.#leadingUntilMs
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Who holds the lease as far as we know; empty: nobody. */
  get leader(): string {
    return this.#seen?.lease.record.holder ?? ''
  }

  /** Runs until the signal aborts, then lets go of the lease. What must end with leadership should have ended before. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#acquire(signal)
      if (!signal.aborted) await this.#keep(signal)
    }
    this.#stopLeading()
    await this.#release()
  }

  async #acquire(signal: AbortSignal): Promise<void> {
    const { retryPeriodMs, random, clock } = this.#options
    while (!signal.aborted && (await this.#try(signal)) !== 'held') {
      await sleep(retryPeriodMs * (1 + JITTER_FACTOR * random()), clock, signal).catch(() => undefined)
    }
  }

  /** Renews until the lease is another's, or could not be renewed in time. */
  async #keep(signal: AbortSignal): Promise<void> {
    const { retryPeriodMs, renewDeadlineMs, clock, logger } = this.#options
    let isRenewed = true
    while (!signal.aborted) {
      const ends = this.#termEnd(signal)
      // From sending to sending, so that slow answers do not add up; after a failure from its end.
      const sentMs = (this.#leadingUntilMs ?? 0) - renewDeadlineMs
      const waitMs = isRenewed ? Math.max(0, sentMs + retryPeriodMs - clock.monotonicMs()) : retryPeriodMs
      await sleep(waitMs, clock, ends.signal).catch(() => undefined)
      const outcome = ends.signal.aborted ? undefined : await this.#try(ends.signal)
      ends.cancel()
      isRenewed = outcome === 'held'
      if (isRenewed) continue
      if (outcome === 'taken' || !this.isLeader()) {
        if (signal.aborted) return
        logger.warn(
          outcome === 'taken' ? { leader: this.leader } : { renewDeadlineMs },
          outcome === 'taken'
            ? 'the lease is another’s; no longer the leader'
            : 'the lease could not be renewed in time; no longer the leader',
        )
        return this.#stopLeading()
      }
    }
  }

  #termEnd(signal: AbortSignal): { readonly signal: AbortSignal; cancel(): void } {
    const { clock } = this.#options
    const over = new AbortController()
    const leftMs = (this.#leadingUntilMs ?? 0) - clock.monotonicMs()
    const cancel = clock.setTimeout(() => over.abort(new Error('the renew deadline has passed')), leftMs)
    return { signal: AbortSignal.any([signal, over.signal]), cancel }
  }

  /** Undefined: it could not be found out. */
  async #try(signal: AbortSignal): Promise<Outcome | undefined> {
    try {
      const outcome = await this.#acquireOrRenew(signal)
      this.#tell(undefined)
      return outcome
    } catch (error) {
      if (!signal.aborted) this.#tell(error)
      return undefined
    }
  }

  async #acquireOrRenew(signal: AbortSignal): Promise<Outcome> {
    const { identity } = this.#options
    if (this.isLeader() && this.#seen?.lease.record.holder === identity) {
      try {
        return await this.#write(this.#seen.lease, signal)
      } catch (error) {
        if (signal.aborted) throw error
        this.#countSlowPath()
      }
    }
    const lease = await this.#leases.get(signal)
    if (lease === undefined) return this.#write(undefined, signal)
    this.#see(lease)
    return this.#isOthers(lease) ? 'taken' : this.#write(lease, signal)
  }

  /** Somebody else's, and not run out by our clock. */
  #isOthers({ record }: Lease): boolean {
    const { identity, clock } = this.#options
    if (record.holder === '' || record.holder === identity) return false
    return clock.monotonicMs() < (this.#seen?.sinceMs ?? 0) + record.durationSeconds * 1_000
  }

  /** Takes the lease or renews it, on the condition that it is still as it was read. */
  async #write(lease: Lease | undefined, signal: AbortSignal): Promise<Outcome> {
    const { clock, renewDeadlineMs } = this.#options
    const sentMs = clock.monotonicMs()
    const record = this.#recordAfter(lease?.record)
    const written =
      lease === undefined ? await this.#leases.create(record, signal) : await this.#leases.update(lease, record, signal)
    this.#see(written)
    const wasLeader = this.isLeader()
    this.#leadingUntilMs = sentMs + renewDeadlineMs
    if (!wasLeader && this.isLeader()) this.#changed()
    return 'held'
  }

  #recordAfter(before: LeaseRecord | undefined): LeaseRecord {
    const { identity, clock, leaseDurationMs } = this.#options
    // Two renewals differ even where the wall clock stands still: others take an unchanged record for a silent leader.
    this.#beat = (this.#beat + 1) % 1_000
    const now = microTime(clock.nowMs(), this.#beat)
    const isRenewal = before?.holder === identity
    return {
      holder: identity,
      durationSeconds: Math.ceil(leaseDurationMs / 1_000),
      acquireTime: isRenewal ? before.acquireTime : now,
      renewTime: now,
      transitions: (before?.transitions ?? 0) + (isRenewal || before === undefined ? 0 : 1),
    }
  }

  #see(lease: Lease): void {
    const before = this.#seen
    const { leader } = this
    const isSame = before !== undefined && JSON.stringify(before.lease.record) === JSON.stringify(lease.record)
    this.#seen = { lease, sinceMs: isSame ? before.sinceMs : this.#options.clock.monotonicMs() }
    if (this.leader !== leader) this.#options.logger.info({ leader: this.leader }, 'the leader is another')
  }

  #stopLeading(): void {
    if (this.#leadingUntilMs === undefined) return
    this.#leadingUntilMs = undefined
    this.#changed()
  }

  #changed(): void {
    this.#options.logger.info({ leading: this.isLeader() }, 'leadership changed')
    for (const listener of [...this.#listeners]) listener()
  }

  /** So that the next leader need not wait. Failing is no harm: the lease runs out. */
  async #release(): Promise<void> {
    const { identity, clock, logger } = this.#options
    if (this.leader !== identity) return
    const late = new AbortController()
    const cancel = clock.setTimeout(() => late.abort(new Error('letting go took too long')), RELEASE_MS)
    try {
      // What was last seen may be older than a renewal whose answer was lost.
      const lease = await this.#leases.get(late.signal)
      if (lease?.record.holder !== identity) return
      const now = microTime(clock.nowMs(), this.#beat)
      const { transitions } = lease.record
      await this.#leases.update(
        lease,
        { holder: '', durationSeconds: 1, acquireTime: now, renewTime: now, transitions },
        late.signal,
      )
    } catch (err) {
      logger.debug({ err }, 'the lease was not let go; it runs out')
    } finally {
      cancel()
    }
  }

  /** A failure is news once, until another or a success; a race that was lost is none. */
  #tell(error: unknown): void {
    if (isLeaseError(error, 'conflict')) return
    const code = error === undefined ? undefined : error instanceof LeaseError ? error.code : 'internal'
    const { logger, lease } = this.#options
    if (code !== undefined) {
      logger[code === this.#told ? 'debug' : 'warn'](
        { err: error, lease },
        'the lease cannot be read or written; trying again',
      )
    }
    this.#told = code
  }
}

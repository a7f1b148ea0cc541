/**
 * One replica's place among the others.
 *
 * Contract: as long as `confirmed`, no other replica takes this one to be gone; `others` are all that registered before its
 * last renewal and are not taken to be gone; and every one of them has either been told of this incarnation (`heardFrom`), or
 * `refusal` says why not. A replica is taken to be gone when its entry has not changed for the lease duration, by the clock of
 * who looks; by its own clock it counts itself out at the renew deadline, which is less, from when it sent its last renewal.
 * One that was counted out comes back as another incarnation, which the others have to hear of anew.
 *
 * Who answers a write of which another has not heard says so here first (`noteUnheard`). It will tell that one itself; but if
 * it dies before, that one is `blind` for a minute.
 */
import { isLeaseError } from '../leaderelection/lease-error.ts'
import type { LeaderElectionTimes } from '../leaderelection/leader-elector.ts'
import type { LeaseClient } from '../leaderelection/lease-client.ts'
import { microTime, type Lease } from '../leaderelection/lease.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock, Random } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import { entriesOf, withEntry, withoutEntry, type Entry, type Replica } from './directory.ts'

export interface MembershipOptions {
  readonly leases: Pick<LeaseClient, 'get' | 'create' | 'update'>
  readonly times: LeaderElectionTimes
  readonly self: Omit<Replica, 'incarnation'>
  readonly newId: () => string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Something has been announced within a minute, or is about to be. */
  readonly hasAnnounced: () => boolean
  /** The others, or what is refused, may be different now. */
  readonly onChange: () => void
}

interface Seen extends Entry {
  readonly sinceMs: number
}

/** Several replicas write one object; each loss is somebody else's win. */
const CONFLICTS = 8
/** Who comes with a certificate that nobody registered must not make us write to the control plane as often as he likes. */
const LOOK_AGAIN_MS = 500
/** As long as a fence lasts, and what is remembered for new followers. */
const UNHEARD_MS = 60_000
/** Leaving must not hold up the end. */
const LEAVE_MS = 2_000

export class Membership {
  readonly #options: MembershipOptions
  #self: Replica
  #lease: Lease | undefined
  #beat = 0
  /** Monotonic; undefined: never, or counted out. */
  #confirmedUntilMs: number | undefined
  #seen: ReadonlyMap<string, Seen> = new Map()
  #others: readonly Replica[] = []
  /** Fingerprints of those that may not know of this incarnation. */
  readonly #strangers = new Set<string>()
  #fault = 'it has not been tried yet'
  #told: string | undefined
  #round: Promise<void> | undefined
  #nextRound: Promise<void> | undefined
  #lookedMs = Number.NEGATIVE_INFINITY
  /** When others last did not hear of something, by fingerprint. */
  readonly #unheard = new Map<string, number>()
  /** Those of them that the Lease names for sure. */
  #noted: ReadonlySet<string> = new Set()
  /** Whom those who had our place before have left without a word, and when at the latest. */
  readonly #left = new Map<string, number>()

  constructor(options: MembershipOptions) {
    this.#options = options
    this.#self = { ...options.self, incarnation: options.newId() }
  }

  get incarnation(): string {
    return this.#self.incarnation
  }

  confirmed(): boolean {
    return this.#confirmedUntilMs !== undefined && this.#options.clock.monotonicMs() < this.#confirmedUntilMs
  }

  others(): readonly Replica[] {
    return this.#others
  }

  /** Why another replica could miss what this one does; undefined: none can. */
  refusal(): string | undefined {
    if (!this.confirmed()) return `this replica is not registered among the others: ${this.#fault}`
    if (this.#strangers.size === 0) return undefined
    const names = this.#others.filter(({ fingerprint }) => this.#strangers.has(fingerprint)).map(({ id }) => id)
    return `replicas do not know this one yet: ${names.slice(0, 4).join(', ')}`
  }

  /** Something that was answered may never be told to this replica. */
  blind(): boolean {
    const { times, clock, self } = this.#options
    const nowMs = clock.monotonicMs()
    const present = new Set(this.#others.map(({ id }) => id))
    return [...this.#seen.values()].some(({ replica, knows, unheard, left, over, sinceMs }) => {
      const age = left.get(self.fingerprint)
      if (age !== undefined && nowMs - sinceMs + age < times.leaseDurationMs + UNHEARD_MS) return true
      if (present.has(replica.id)) return false
      const isTold = (over || knows.includes(self.fingerprint)) && !unheard.includes(self.fingerprint)
      return !isTold && nowMs - sinceMs < times.renewDeadlineMs + UNHEARD_MS
    })
  }

  /**
   * To be called before a write is answered that these have not heard of. Resolves with whether the Lease says so, so that it
   * is known even if this process dies.
   */
  async noteUnheard(fingerprints: readonly string[], signal: AbortSignal): Promise<boolean> {
    const nowMs = this.#options.clock.monotonicMs()
    for (const fingerprint of fingerprints) this.#unheard.set(fingerprint, nowMs)
    const isNoted = (): boolean => fingerprints.every((fingerprint) => this.#noted.has(fingerprint))
    if (!isNoted()) await this.#renew(signal)
    return isNoted()
  }

  /** It has been told of everything of the past minute. */
  heardAll(fingerprint: string): void {
    this.#unheard.delete(fingerprint)
  }

  /** Another replica has named this incarnation. */
  heardFrom(fingerprint: string): void {
    if (this.#strangers.delete(fingerprint)) this.#options.onChange()
  }

  /** Whether that is another replica's certificate; looks again where it is not known, but not for every stranger. */
  async knows(fingerprint: string, signal: AbortSignal): Promise<boolean> {
    const known = (): boolean => this.#others.some((each) => each.fingerprint === fingerprint)
    const nowMs = this.#options.clock.monotonicMs()
    if (!known() && nowMs - this.#lookedMs >= LOOK_AGAIN_MS) {
      this.#lookedMs = nowMs
      await this.#renew(signal)
    }
    return known()
  }

  /** Renews until the signal aborts, then leaves. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, times } = this.#options
    while (!signal.aborted) {
      await this.#renew(signal)
      await sleep(times.retryPeriodMs * (0.9 + 0.2 * random()), clock, signal).catch(() => undefined)
    }
    this.#confirmedUntilMs = undefined
    this.#fault = 'it is shutting down'
    await this.#leave()
  }

  /** One at a time; all who ask meanwhile share the one after, which tells what each of them has to tell. */
  #renew(signal: AbortSignal): Promise<void> {
    if (this.#nextRound !== undefined) return this.#nextRound
    if (this.#round === undefined) return this.#beginRound(signal)
    const begin = (): Promise<void> => {
      this.#nextRound = undefined
      return this.#beginRound(signal)
    }
    this.#nextRound = this.#round.then(begin, begin)
    return this.#nextRound
  }

  #beginRound(signal: AbortSignal): Promise<void> {
    const round = this.#tryRound(signal).finally(() => {
      if (this.#round === round) this.#round = undefined
    })
    this.#round = round
    return round
  }

  async #tryRound(signal: AbortSignal): Promise<void> {
    const { logger } = this.#options
    try {
      await this.#write(signal)
      if (this.#told !== undefined) logger.info('registered among the replicas again')
      this.#told = undefined
    } catch (error) {
      this.#lease = undefined
      if (signal.aborted) return
      if (!isLeaseError(error)) throw error
      this.#fault = error.message
      if (this.#told === error.message) return
      this.#told = error.message
      logger.warn({ err: error }, 'this replica cannot be registered among the others')
    }
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { leases, times, clock, newId } = this.#options
    for (let conflicts = 0; ; conflicts++) {
      const lease = this.#lease ?? (await leases.get(signal)) ?? (await this.#create(signal))
      if (lease === undefined) continue // somebody else has created it
      // From here on the others may have counted it out.
      if (!this.confirmed()) this.#self = { ...this.#self, incarnation: newId() }
      const holder = entriesOf(lease.object).find(({ replica }) => replica.id === this.#self.id)?.replica
      const isTaken = this.confirmed() && holder !== undefined && holder.incarnation !== this.#self.incarnation
      if (isTaken) this.#self = { ...this.#self, id: newId(), incarnation: newId() }
      const sentMs = clock.monotonicMs()
      const entry = this.#entry(entriesOf(lease.object), sentMs)
      const object = withEntry(lease.object, entry, ++this.#beat, this.#longGone(sentMs))
      const renewTime = microTime(clock.nowMs(), this.#beat % 1_000)
      try {
        const written = await leases.update({ ...lease, object }, { ...lease.record, renewTime }, signal)
        this.#lease = written
        this.#noted = new Set(entry.unheard)
        const isBack = !this.confirmed() || isTaken
        this.#confirmedUntilMs = sentMs + times.renewDeadlineMs
        this.#see(entriesOf(written.object), sentMs, isBack)
        return
      } catch (error) {
        this.#lease = undefined
        if (!isLeaseError(error, 'conflict') || conflicts >= CONFLICTS) throw error
      }
    }
  }

  #entry(entries: readonly Entry[], nowMs: number): Omit<Entry, 'text'> {
    const own = this.#self
    const knows = this.#present(this.#looked(entries), nowMs).map(({ fingerprint }) => fingerprint)
    const before = entries.find(({ replica }) => replica.id === own.id)
    if (before !== undefined && before.replica.fingerprint !== own.fingerprint) this.#inherit(before, knows, nowMs)
    // What has been answered since the last look was not told to who has come since.
    const known = new Set(this.#others.map(({ fingerprint }) => fingerprint))
    const untold = this.#options.hasAnnounced() ? knows.filter((fingerprint) => !known.has(fingerprint)) : []
    for (const fingerprint of untold) this.#unheard.set(fingerprint, nowMs)
    forgetOld(this.#unheard, nowMs)
    forgetOld(this.#left, nowMs)
    // What this write may take out of the Lease is not noted from now on.
    this.#noted = new Set([...this.#noted].filter((fingerprint) => this.#unheard.has(fingerprint)))
    const left = new Map([...this.#left].map(([fingerprint, atMs]) => [fingerprint, nowMs - atMs]))
    return { replica: own, knows, unheard: [...this.#unheard.keys()], left, over: false }
  }

  /** Those that were taken to be gone have been told nothing, and may come back. */
  #lastEntry(entries: readonly Entry[], nowMs: number): Omit<Entry, 'text'> {
    const entry = this.#entry(entries, nowMs)
    const others = entries.filter(({ replica, over }) => replica.id !== this.#self.id && !over)
    const fingerprints = this.#options.hasAnnounced() ? others.map(({ replica }) => replica.fingerprint) : []
    const absent = fingerprints.filter((each) => !entry.knows.includes(each))
    return { ...entry, unheard: [...new Set([...entry.unheard, ...absent])], over: true }
  }

  /** Takes a place over: its process is dead, or has left. */
  #inherit(before: Entry, knows: readonly string[], nowMs: number): void {
    const untold = before.over ? [] : knows.filter((fingerprint) => !before.knows.includes(fingerprint))
    for (const [fingerprint, age] of before.left) this.#left.set(fingerprint, nowMs - age)
    for (const fingerprint of [...before.unheard, ...untold]) this.#left.set(fingerprint, nowMs)
  }

  /** Undefined: there is one now. */
  async #create(signal: AbortSignal): Promise<Lease | undefined> {
    const { leases, times, clock } = this.#options
    const time = microTime(clock.nowMs(), 0)
    const durationSeconds = Math.max(1, Math.round(times.leaseDurationMs / 1_000))
    try {
      return await leases.create(
        { holder: 'replicas', durationSeconds, acquireTime: time, renewTime: time, transitions: 0 },
        signal,
      )
    } catch (error) {
      if (isLeaseError(error, 'conflict')) return undefined
      throw error
    }
  }

  /** `sentMs`: the entries are as they were then, or later. */
  #see(entries: readonly Entry[], sentMs: number, isBack: boolean): void {
    this.#seen = this.#looked(entries)
    this.#others = this.#present(this.#seen, sentMs)
    const fingerprints = new Set(this.#others.map(({ fingerprint }) => fingerprint))
    if (isBack) for (const fingerprint of fingerprints) this.#strangers.add(fingerprint)
    for (const stranger of this.#strangers) if (!fingerprints.has(stranger)) this.#strangers.delete(stranger)
    this.#options.onChange()
  }

  /** Those of others, each with since when it is as it is. */
  #looked(entries: readonly Entry[]): ReadonlyMap<string, Seen> {
    const nowMs = this.#options.clock.monotonicMs()
    const others = entries.filter(({ replica }) => replica.id !== this.#self.id)
    return new Map(
      others.map((entry) => {
        const before = this.#seen.get(entry.replica.id)
        return [entry.replica.id, before?.text === entry.text ? before : { ...entry, sinceMs: nowMs }]
      }),
    )
  }

  #present(seen: ReadonlyMap<string, Seen>, sentMs: number): readonly Replica[] {
    const present = [...seen.values()].filter(({ over, sinceMs }) => !over && !this.#isGone(sinceMs, sentMs))
    return present.map(({ replica }) => replica)
  }

  #isGone(sinceMs: number, sentMs: number): boolean {
    return sentMs - sinceMs >= this.#options.times.leaseDurationMs
  }

  /** Entries that somebody left behind, and that nobody has to know of; one who is still there writes his again. */
  #longGone(nowMs: number): readonly string[] {
    const { leaseDurationMs } = this.#options.times
    return [...this.#seen]
      .filter(([, { sinceMs }]) => this.#isGone(sinceMs + 2 * leaseDurationMs + 2 * UNHEARD_MS, nowMs))
      .map(([id]) => id)
  }

  async #leave(): Promise<void> {
    const { clock, leases, logger } = this.#options
    const late = new AbortController()
    const cancel = clock.setTimeout(() => late.abort(new Error('leaving took too long')), LEAVE_MS)
    try {
      for (let tries = 0; tries < CONFLICTS; tries++) {
        const lease = await leases.get(late.signal)
        const own = lease && entriesOf(lease.object).find(({ replica }) => replica.id === this.#self.id)
        if (lease === undefined || own?.replica.incarnation !== this.#self.incarnation) return
        const now = this.#lastEntry(entriesOf(lease.object), clock.monotonicMs())
        const isNeeded = now.unheard.length > 0 || now.left.size > 0 // by those who have not heard
        const object = isNeeded
          ? withEntry(lease.object, now, ++this.#beat, [])
          : withoutEntry(lease.object, this.#self.id)
        const left = await leases.update({ ...lease, object }, lease.record, late.signal).then(
          () => true,
          (error: unknown) => {
            if (isLeaseError(error, 'conflict')) return false
            throw error
          },
        )
        if (left) return
      }
    } catch (err) {
      logger.debug({ err }, 'the replica’s entry stays until it has run out')
    } finally {
      cancel()
    }
  }
}

function forgetOld(times: Map<string, number>, nowMs: number): void {
  for (const [fingerprint, atMs] of times) if (nowMs - atMs > UNHEARD_MS) times.delete(fingerprint)
}

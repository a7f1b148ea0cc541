/**
 * All that one replica has to do with the others: it is registered among them, follows each, and is followed by each.
 */
import type { Logger } from '../telemetry/logger.ts'
import { Counter, Gauge, type Registry } from '../telemetry/metrics.ts'
import type { Clock } from '../util/clock.ts'
import { Announcer } from './announcer.ts'
import type { Channel } from './channel.ts'
import type { Replica } from './directory.ts'
import { Following } from './following.ts'
import { Membership, type MembershipOptions } from './membership.ts'

export interface ReplicaPeersOptions extends Omit<MembershipOptions, 'onChange' | 'hasAnnounced'> {
  readonly dial: (replica: Replica, signal: AbortSignal) => Promise<Channel>
  readonly logger: Logger
  readonly metrics: Registry
  readonly clock: Clock
}

interface Followed {
  readonly following: Following
  readonly stop: AbortController
  readonly ended: Promise<void>
}

export class ReplicaPeers {
  readonly #membership: Membership
  readonly #announcer: Announcer
  readonly #options: ReplicaPeersOptions
  readonly #followed = new Map<string, Followed>()
  readonly #outcomes: Counter<'outcome'>
  #listener: (notice: unknown, ageMs: number) => void = () => undefined
  #running = false
  #stopped = false
  readonly #ends = new AbortController()

  constructor(options: ReplicaPeersOptions) {
    this.#options = options
    const { clock, metrics } = options
    this.#membership = new Membership({
      ...options,
      hasAnnounced: () => this.#announcer.remembered > 0,
      onChange: () => this.#reconcile(),
    })
    this.#announcer = new Announcer({
      clock,
      refusal: () => this.#membership.refusal(),
      others: () => this.#membership.others().map(({ fingerprint }) => fingerprint),
      noteUnheard: (fingerprints) => this.#membership.noteUnheard(fingerprints, this.#ends.signal),
      incarnation: () => this.#membership.incarnation,
      heardFrom: (fingerprint) => this.#membership.heardFrom(fingerprint),
      heardAll: (fingerprint) => this.#membership.heardAll(fingerprint),
    })
    this.#outcomes = new Counter({
      name: 'fleetsearch_peer_announcements_total',
      help: 'Writes that other replicas had to know of: heard by all, waited_out for one that was silent, failed.',
      labelNames: ['outcome'],
      registers: [metrics],
    })
    this.#addGauges(metrics)
  }

  /** Why no write may be sent now; undefined: it may. */
  refusal(): string | undefined {
    return this.#stopped ? 'this replica is shutting down' : this.#membership.refusal()
  }

  /** Resolves when no replica can answer a read without knowing of it. Rejects where that cannot be brought about. */
  async announce(notice: unknown): Promise<void> {
    try {
      const isHeard = await this.#announcer.announce(notice)
      this.#outcomes.inc({ outcome: isHeard ? 'heard' : 'waited_out' })
    } catch (error) {
      this.#outcomes.inc({ outcome: 'failed' })
      throw error
    }
  }

  /** No other replica can have answered a write that is not known here. */
  covered(): boolean {
    if (this.#stopped || !this.#membership.confirmed() || this.#membership.blind()) return false
    for (const replica of this.#membership.others()) {
      if (this.#followed.get(keyOf(replica))?.following.covered() !== true) return false
    }
    return true
  }

  onAnnounced(listener: (notice: unknown, ageMs: number) => void): void {
    this.#listener = listener
  }

  /** Takes a connection whose end has shown a certificate; false: that is no replica's, and it is closed. */
  async accept(fingerprint: string, channel: Channel, signal: AbortSignal): Promise<boolean> {
    const isKnown = this.#running && (await this.#membership.knows(fingerprint, signal))
    const isTaken = isKnown && !this.#stopped
    if (isTaken) this.#announcer.accept(fingerprint, channel)
    else channel.close()
    return isTaken
  }

  /** Until the signal aborts; nothing is read or written through this replica any more then. */
  async run(signal: AbortSignal): Promise<void> {
    this.#running = true
    await this.#membership.run(signal)
    this.#stopped = true
    this.#ends.abort(new Error('shutting down'))
    this.#announcer.stop()
    for (const { following, stop } of this.#followed.values()) {
      following.leave()
      stop.abort(new Error('shutting down'))
    }
    await Promise.all([...this.#followed.values()].map(({ ended }) => ended))
    this.#announcer.close()
  }

  #reconcile(): void {
    if (this.#stopped) return
    const { dial, clock, logger } = this.#options
    const wanted = new Map(this.#membership.others().map((replica) => [keyOf(replica), replica]))
    for (const [key, { stop }] of this.#followed) {
      if (wanted.has(key)) continue
      stop.abort(new Error('the replica is gone'))
      this.#followed.delete(key)
    }
    for (const [key, replica] of wanted) {
      if (this.#followed.has(key)) continue
      const stop = new AbortController()
      const onNotice = (notice: unknown, ageMs: number): void => this.#listener(notice, ageMs)
      const following = new Following({ replica, dial, onNotice, clock })
      logger.info({ replica: replica.id, address: replica.address }, 'another replica is followed')
      this.#followed.set(key, { following, stop, ended: following.run(stop.signal) })
    }
  }

  #addGauges(metrics: Registry): void {
    const followed = (): readonly boolean[] => [...this.#followed.values()].map(({ following }) => following.covered())
    const isRegistered = (): boolean => this.#membership.confirmed()
    const announcer = this.#announcer
    new Gauge({
      name: 'fleetsearch_peers',
      help: 'Other replicas, by whether what they write is heard here. While one is silent, proxied reads go to the members.',
      labelNames: ['state'],
      registers: [metrics],
      collect() {
        const states = followed()
        this.set({ state: 'heard' }, states.filter((covered) => covered).length)
        this.set({ state: 'silent' }, states.filter((covered) => !covered).length)
      },
    })
    new Gauge({
      name: 'fleetsearch_peer_registered',
      help: 'Whether this replica is registered among the others: 1, or 0, while proxied reads go to the members and proxied writes are refused.',
      registers: [metrics],
      collect() {
        this.set(isRegistered() ? 1 : 0)
      },
    })
    new Gauge({
      name: 'fleetsearch_peer_remembered_notices',
      help: 'Writes of the past minute that a replica which begins to follow is told of; at most 4096.',
      registers: [metrics],
      collect() {
        this.set(announcer.remembered)
      },
    })
  }
}

const keyOf = ({ fingerprint, incarnation }: Replica): string => `${fingerprint} ${incarnation}`

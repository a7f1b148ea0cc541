/**
 * Replicas over a control plane and a network that misbehave on demand, in virtual time. Each replica is a process of its own:
 * it may stand still (no timer fires, nothing arrives), its clock may run at another rate, it may die without a word.
 */
import { LeaseError } from '../../src/leaderelection/lease-error.ts'
import type { LeaseClient } from '../../src/leaderelection/lease-client.ts'
import { leaseFrom, newLease, withRecord, type Lease } from '../../src/leaderelection/lease.ts'
import type { Channel, PeerMessage } from '../../src/peers/channel.ts'
import type { Replica } from '../../src/peers/directory.ts'
import { ReplicaPeers } from '../../src/peers/replica-peers.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import type { Random } from '../../src/util/clock.ts'
import { seededRandom, type FakeClock } from '../support/fake-clock.ts'
import { FakeProcess } from '../support/fake-process.ts'

export const TIMES = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }

/** One Lease, written only by who has read it as it is. */
export class Directory {
  stored: Lease | undefined
  #version = 0

  get text(): string {
    return JSON.stringify(this.stored?.object ?? {})
  }

  store(object: Lease['object']): Lease {
    const metadata = { ...(object['metadata'] as object), resourceVersion: String(++this.#version) }
    this.stored = leaseFrom({ ...object, metadata })
    return this.stored
  }

  get version(): string {
    return String(this.#version)
  }
}

/** What of the network is gone: `a>b` says nothing of `b>a`. */
export class Network {
  readonly gone = new Set<string>()
  latencyMs = 1

  cut(a: string, b: string): void {
    this.gone.add(`${a}>${b}`).add(`${b}>${a}`)
  }

  mend(a: string, b: string): void {
    this.gone.delete(`${a}>${b}`)
    this.gone.delete(`${b}>${a}`)
  }

  passes(a: string, b: string): boolean {
    return !this.gone.has(`${a}>${b}`)
  }
}

export class World {
  readonly clock: FakeClock
  readonly directory = new Directory()
  readonly network = new Network()
  readonly processes = new Set<ReplicaProcess>()
  starts = 0

  constructor(clock: FakeClock) {
    this.clock = clock
  }

  start(name: string, options: ProcessOptions = {}): ReplicaProcess {
    const process = new ReplicaProcess(this, name, options)
    this.processes.add(process)
    return process
  }

  at(address: string): ReplicaProcess | undefined {
    return [...this.processes].find((process) => process.address === address && !process.dead)
  }

  async end(): Promise<void> {
    for (const process of this.processes) process.kill()
    await this.clock.advance(30_000)
  }
}

export interface ProcessOptions {
  readonly rate?: number
  readonly random?: Random
  /** Looks at what this replica sends to another one, and may change it; undefined: it is swallowed. */
  readonly tamper?: (message: PeerMessage) => PeerMessage | undefined
}

export class ReplicaProcess extends FakeProcess {
  readonly name: string
  readonly peers: ReplicaPeers
  readonly metrics = createMetricsRegistry()
  readonly address: string
  readonly fingerprint: string
  /** What it was told of, in its own process or by others. */
  readonly known = new Set<unknown>()
  readonly ended: Promise<void>
  readonly bornMs: number
  controlPlane: 'well' | 'hangs' | 'refuses' | 'unanswered' = 'well'
  readonly #world: World
  readonly #tamper: NonNullable<ProcessOptions['tamper']>
  readonly #stop = new AbortController()
  readonly #channels = new Set<FakeChannel>()

  constructor(world: World, name: string, { rate = 1, random, tamper = (message) => message }: ProcessOptions) {
    super(world.clock, rate)
    this.#world = world
    this.#tamper = tamper
    this.name = name
    this.bornMs = world.clock.monotonicMs()
    const start = ++world.starts
    this.address = `${name}:${start}`
    this.fingerprint = `certificate-${name}-${start}`
    let ids = 0
    this.peers = new ReplicaPeers({
      leases: this.#leases(),
      times: TIMES,
      self: { id: name, address: this.address, fingerprint: this.fingerprint },
      newId: () => `${name}-${start}-${++ids}`,
      clock: this,
      random: random ?? seededRandom(start),
      logger: createLogger('silent'),
      metrics: this.metrics,
      dial: (replica, signal) => this.#dial(replica, signal),
    })
    this.peers.onAnnounced((notice) => this.known.add(notice))
    this.ended = this.peers.run(this.#stop.signal)
  }

  /** As the proxy does: not sent where it may not be; known here before others are told. */
  async write(notice: string): Promise<'answered' | 'refused' | 'unknown'> {
    if (this.peers.refusal() !== undefined) return 'refused'
    this.known.add(notice)
    try {
      await this.peers.announce(notice)
      return 'answered'
    } catch {
      return 'unknown'
    }
  }

  terminate(): void {
    this.#stop.abort(new Error('shutting down'))
  }

  /** SIGKILL: the kernel closes its connections; nothing else happens in it any more. */
  override kill(): void {
    super.kill()
    for (const channel of [...this.#channels]) channel.close()
    this.#stop.abort(new Error('killed'))
  }

  /** Puts a connection into its hands, as its listener would. */
  take(fingerprint: string, channel: Channel): void {
    void this.peers.accept(fingerprint, channel, this.#stop.signal)
  }

  hold(channel: FakeChannel): void {
    this.#channels.add(channel)
  }

  letGo(channel: FakeChannel): void {
    this.#channels.delete(channel)
  }

  tampered(message: PeerMessage): PeerMessage | undefined {
    return this.#tamper(message)
  }

  #dial(replica: Replica, signal: AbortSignal): Promise<Channel> {
    const { network, clock } = this.#world
    return new Promise((resolve, reject) => {
      const late = this.setTimeout(() => reject(new Error('no answer')), 2_000)
      signal.addEventListener('abort', () => {
        late()
        reject(signal.reason as Error)
      })
      const other = this.#world.at(replica.address)
      if (!network.passes(this.name, other?.name ?? '')) return
      clock.setTimeout(() => {
        if (other === undefined || other.dead || this.dead || signal.aborted) return reject(new Error('refused'))
        if (other.fingerprint !== replica.fingerprint) return reject(new Error('another certificate'))
        const [near, far] = channelPair(this.#world, this, other)
        other.deliver(() => other.take(this.fingerprint, far))
        this.deliver(() => {
          late()
          resolve(near)
        })
      }, network.latencyMs)
    })
  }

  #leases(): Pick<LeaseClient, 'get' | 'create' | 'update'> {
    const { directory, clock } = this.#world
    const ask = <T>(carryOut: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        const unavailable = (): void => reject(new LeaseError('unavailable', 'no answer'))
        if (this.controlPlane === 'refuses') return reject(new LeaseError('refused', '403 forbidden'))
        if (this.controlPlane === 'hangs') return void this.setTimeout(unavailable, TIMES.renewDeadlineMs / 2)
        const isAnswered = this.controlPlane === 'well'
        clock.setTimeout(() => {
          if (this.dead) return
          let outcome: () => void
          try {
            const value = carryOut()
            outcome = () => resolve(value)
          } catch (error) {
            outcome = () => reject(error as Error)
          }
          if (isAnswered) this.deliver(outcome)
          else this.setTimeout(unavailable, TIMES.renewDeadlineMs / 2)
        }, 3)
      })
    return {
      get: () => ask(() => directory.stored),
      create: (record) =>
        ask(() => {
          if (directory.stored !== undefined) throw new LeaseError('conflict', 'it exists')
          return directory.store(newLease({ namespace: 'n', name: 'replicas' }, record))
        }),
      update: (lease, record) =>
        ask(() => {
          const { resourceVersion } = lease.object['metadata'] as { resourceVersion: string }
          if (resourceVersion !== directory.version) throw new LeaseError('conflict', 'was modified')
          return directory.store(withRecord(lease, record))
        }),
    }
  }
}

/** A connection whose messages wait in the network while it is cut, and are lost when it closes. */
class FakeChannel implements Channel {
  other!: FakeChannel
  readonly #world: World
  readonly #owner: ReplicaProcess
  readonly #queue: PeerMessage[] = []
  readonly #inFlight: (() => void)[] = []
  #onMessage: ((message: PeerMessage) => void) | undefined
  #onClose: (() => void) | undefined
  #closed = false

  constructor(world: World, owner: ReplicaProcess) {
    this.#world = world
    this.#owner = owner
    owner.hold(this)
  }

  listen(onMessage: (message: PeerMessage) => void, onClose: () => void): void {
    this.#onMessage = onMessage
    this.#onClose = onClose
    if (this.#closed) return onClose()
    for (const message of this.#queue.splice(0)) onMessage(message)
  }

  send(message: PeerMessage): void {
    const sent = this.#owner.tampered(message)
    if (sent !== undefined && !this.#closed) this.#pass(() => this.other.#arrive(sent))
  }

  close(): void {
    if (this.#closed) return
    this.#pass(() => this.other.#end())
    this.#end()
  }

  /** In order: what was sent later never overtakes what waits. */
  #pass(what: () => void): void {
    this.#inFlight.push(what)
    if (this.#inFlight.length === 1) this.#world.clock.setTimeout(() => this.#pump(), this.#world.network.latencyMs)
  }

  #pump(): void {
    const { network, clock } = this.#world
    const to = this.other.#owner
    if (network.passes(this.#owner.name, to.name)) for (const what of this.#inFlight.splice(0)) to.deliver(what)
    else if (!to.dead) clock.setTimeout(() => this.#pump(), 200)
  }

  #arrive(message: PeerMessage): void {
    if (this.#closed) return
    if (this.#onMessage === undefined) this.#queue.push(message)
    else this.#onMessage(message)
  }

  #end(): void {
    if (this.#closed) return
    this.#closed = true
    this.#owner.letGo(this)
    this.#onClose?.()
  }
}

function channelPair(world: World, a: ReplicaProcess, b: ReplicaProcess): [FakeChannel, FakeChannel] {
  const near = new FakeChannel(world, a)
  const far = new FakeChannel(world, b)
  near.other = far
  far.other = near
  return [near, far]
}
